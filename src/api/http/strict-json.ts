import { errorMessage } from '../../base/text/error-message.ts'
import { endOfString, hasAtMostValues } from '../../base/text/json-size.ts'

const MAX_DEPTH = 32
/** More than any body needs; each value costs time before the schema can reject it. */
const MAX_VALUES = 20_000
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Parses JSON strictly: rejects duplicate keys, keys that could reach an object's prototype, and nesting deeper than
 * any body needs.
 */
export function parseStrictJson(text: string): unknown {
  if (!hasAtMostValues(text, MAX_VALUES)) throw new SyntaxError(`it holds more than ${MAX_VALUES} values.`)
  const value = parseJson(text) // Syntax first: the scan below assumes valid JSON.
  rejectUnsafe(text)
  return value
}

/** V8's message quotes the text around the mistake, which may be a secret; this drops it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SyntaxError(`${errorMessage(error).replace(/, (\.\.\.)?".*$/s, '')}.`)
  }
}

function rejectUnsafe(text: string): void {
  // A set of keys per open object, undefined per open array.
  const scopes: (Set<string> | undefined)[] = []
  let expectKey = false
  for (let index = 0; index < text.length; index++) {
    switch (text[index]) {
      case '{':
        scopes.push(new Set())
        expectKey = true
        break
      case '[':
        scopes.push(undefined)
        expectKey = false
        break
      case '}':
      case ']':
        scopes.pop()
        expectKey = false
        break
      case ',':
        expectKey = scopes.at(-1) !== undefined
        break
      case ':':
        expectKey = false
        break
      case '"': {
        const end = endOfString(text, index)
        if (expectKey) addKey(scopes.at(-1)!, JSON.parse(text.slice(index, end + 1)) as string)
        index = end
        break
      }
    }
    if (scopes.length > MAX_DEPTH) throw new SyntaxError(`it is nested more than ${MAX_DEPTH} levels deep.`)
  }
}

function addKey(keys: Set<string>, key: string): void {
  if (FORBIDDEN_KEYS.has(key)) throw new SyntaxError(`the key "${key}" is not allowed.`)
  if (keys.has(key)) throw new SyntaxError(`the key "${key}" appears twice in one object.`)
  keys.add(key)
}
