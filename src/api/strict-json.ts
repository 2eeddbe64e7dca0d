import { endOfString, hasAtMostValues } from '../base/json-size.ts'

const MAX_DEPTH = 32
/** More than any body here needs; each costs time before a schema can refuse it. */
const MAX_VALUES = 20_000
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Parses JSON the way a careful caller would want it: a key given twice, a key that could reach an object's
 * prototype, or deeper nesting than any body here needs is refused instead of silently resolved.
 */
export function parseStrictJson(text: string): unknown {
  if (!hasAtMostValues(text, MAX_VALUES)) throw new SyntaxError(`it holds more than ${MAX_VALUES} values.`)
  const value = parseJson(text) // Syntax first, so that the scan below can trust the form.
  rejectUnsafe(text)
  return value
}

/** The engine's complaint quotes what stands around the mistake, which may be a secret. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SyntaxError(`${(error as Error).message.replace(/, (\.\.\.)?".*$/s, '')}.`)
  }
}

function rejectUnsafe(text: string): void {
  // One set of keys for each open object, undefined for each open array.
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
  if (keys.has(key)) throw new SyntaxError(`the key "${key}" stands in one object twice.`)
  keys.add(key)
}
