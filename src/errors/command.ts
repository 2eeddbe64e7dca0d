import { CommandFailure } from '../base/process/command-line.ts'
import { type ErrorEntry, findError, loadErrorCatalogue } from './catalogue.ts'

const WIDTH = 80

/** `adit help CODE` and `adit help errors`: the explanation of one error code, or a list of all. */
export async function explainErrors(topic: string): Promise<string> {
  const entries = await loadErrorCatalogue()
  if (topic === 'errors') return formatList(entries)
  const entry = findError(entries, topic)
  if (entry === undefined)
    throw new CommandFailure(`there is no error code ${topic}\nAll codes: adit help errors`)
  const status = entry.status === undefined ? '' : `, status ${entry.status}`
  return `${entry.code} (${entry.area}${status})\n\n${wrap(entry.cause)}\n\nNext step\n${wrap(entry.next)}\n`
}

function formatList(entries: readonly ErrorEntry[]): string {
  const sections = [...Map.groupBy(entries, ({ area }) => area)].map(
    ([area, group]) =>
      `${area}\n${group.map(({ code, cause }) => `  ${code.padEnd(15)} ${cause}\n`).join('')}`,
  )
  return `${sections.join('\n')}\nadit help CODE explains one of them and names the next step.\n`
}

function wrap(text: string): string {
  const lines: string[] = []
  let line = ' '
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH && line !== ' ') {
      lines.push(line)
      line = ' '
    }
    line += ` ${word}`
  }
  return [...lines, line].join('\n')
}
