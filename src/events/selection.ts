import type { FieldReader } from './filter.ts'

/** Picks the chosen fields of an event. */
export type Selection = (read: FieldReader) => Record<string, unknown>

/** The chosen fields as an object: `conn.client_ip` becomes `{conn: {client_ip}}`. What is not there is left out. */
export function compileSelection(fields: readonly string[]): Selection {
  const places = fields.map((field) => {
    const steps = field.split('.')
    return { field, parents: steps.slice(0, -1), key: steps.at(-1)! }
  })
  return (read) => {
    const selected: Record<string, unknown> = {}
    for (const { field, parents, key } of places) {
      const value = read(field)
      if (value === undefined) continue
      let holder = selected
      for (const step of parents) {
        holder[step] ??= {}
        holder = holder[step] as Record<string, unknown>
      }
      holder[key] = value
    }
    return selected
  }
}
