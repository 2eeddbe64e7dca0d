/** How a list is shown on a terminal. */
export interface TableStyle {
  /** The width of the terminal. */
  readonly columns: number
  readonly colours: boolean
}

type Item = Readonly<Record<string, unknown>>

/** Fields that say little in a list. */
const OMITTED = new Set(['uri', 'metadata'])
/** Shown last, where there is room. */
const LAST = ['description', 'created_at']
const MAX_CELL_WIDTH = 48
const GAP = 2
const BOLD = '\u001b[1m'
const RESET = '\u001b[0m'

/** Formats a page of a list as a table; undefined when the response is no list. */
export function formatList(response: unknown, { columns, colours }: TableStyle): string | undefined {
  const { uri: _uri, next_page_uri: nextPage, ...rest } = response as Item
  const [key, ...others] = Object.keys(rest)
  const items = key === undefined ? undefined : rest[key]
  if (!Array.isArray(items) || others.length > 0) return undefined
  if (items.length === 0) return `No ${key!.replaceAll('_', ' ')}.\n`

  const visibleFields = fit(selectFields(items), items, columns)
  const lines = [
    visibleFields.map(({ field, width }) => field.toUpperCase().padEnd(width)),
    ...items.map((item) => visibleFields.map(({ field, width }) => formatCell(item[field]).padEnd(width))),
  ].map((cells) => cells.join(' '.repeat(GAP)).trimEnd().slice(0, columns))
  if (colours) lines[0] = `${BOLD}${lines[0]}${RESET}`
  const last = items.at(-1) as Item
  if (typeof nextPage === 'string') lines.push('', `More: add --before-id ${String(last.id)}`)
  return `${lines.join('\n')}\n`
}

/** Fields with a value that fits a cell, in the order of the API. */
function selectFields(items: readonly Item[]): string[] {
  const fields = new Set(items.flatMap((item) => Object.keys(item)))
  const useful = [...fields].filter(
    (field) => !OMITTED.has(field) && items.some((item) => formatCell(item[field]) !== ''),
  )
  return [
    ...useful.filter((field) => !LAST.includes(field)),
    ...LAST.filter((field) => useful.includes(field)),
  ]
}

/** As many leading columns as the terminal is wide enough for; the first is always shown. */
function fit(fields: readonly string[], items: readonly Item[], columns: number) {
  const visibleFields: { field: string; width: number }[] = []
  let used = -GAP
  for (const field of fields) {
    const width = Math.max(field.length, ...items.map((item) => formatCell(item[field]).length))
    if (visibleFields.length > 0 && used + GAP + width > columns) continue
    used += GAP + width
    visibleFields.push({ field, width })
  }
  return visibleFields
}

function formatCell(value: unknown): string {
  // Control characters of a value must not reach the terminal.
  const text = cellText(value).replace(/[^\P{C}\p{Cf}]/gu, ' ')
  return text.length > MAX_CELL_WIDTH ? `${text.slice(0, MAX_CELL_WIDTH - 1)}…` : text
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(cellText).join(', ')
  // A reference to another object.
  if (typeof value === 'object') return 'id' in value ? String(value.id) : ''
  return String(value)
}
