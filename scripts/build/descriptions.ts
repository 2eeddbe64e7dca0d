import type { Plugin } from 'rolldown'

/** A node of the syntax tree, as far as descriptions are concerned. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly callee?: { readonly name?: string }
  readonly arguments?: readonly Node[]
  readonly key?: { readonly name?: string }
  readonly value?: unknown
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The functions that take a value, its description and an example. */
const FIELDS = /^(?:assigned|live|fixed|editable|writeOnly|shownOnce)$/

/**
 * Leaves out the descriptions of resources, modules and fields: the server publishes them in the OpenAPI document, the agent
 * has no use for them.
 */
export function leaveOutDescriptions(): Plugin {
  return {
    name: 'descriptions',
    transform: {
      filter: { id: /\/src\/(?:resources|api)\// },
      handler(code) {
        const edits = editsOf(this.parse(code, { lang: 'ts' })).toSorted((a, b) => b.start - a.start)
        return edits.reduce(
          (rest, { start, end, text }) => rest.slice(0, start) + text + rest.slice(end),
          code,
        )
      },
    },
  }
}

function editsOf(node: unknown): Edit[] {
  if (typeof node !== 'object' || node === null) return []
  return [...ownEdits(node as Node), ...Object.values(node).flatMap(editsOf)]
}

function ownEdits({ type, start, end, callee, arguments: [first, second] = [], key, value }: Node): Edit[] {
  if (type === 'Property' && key?.name === 'description' && (value as Node).type === 'Literal')
    return [{ ...(value as Node), text: "''" }]
  if (type !== 'CallExpression' || first === undefined || second === undefined) return []
  const name = callee?.name ?? ''
  if (name === 'defineModule') return [{ ...second, text: "''" }]
  if (FIELDS.test(name)) return [{ start: first.end, end, text: ')' }]
  return name === 'described'
    ? [
        { start, end: first.start, text: '' },
        { start: first.end, end, text: '' },
      ]
    : []
}
