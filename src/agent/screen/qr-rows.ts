import { encodeQrCode, renderQrCode } from '../../base/text/qr-code.ts'
import { isLocalDomain } from '../../base/values/local-domain.ts'
import { breakWord, type ScreenRow, wrapText } from './layout.ts'

/** The QR code of a URL with the URL below it, or what keeps it from being shown. */
export function qrRows(url: string, columns: number, rows: number): ScreenRow[] {
  const lines = describeQrCode(url)
  const text = [...breakWord(url, columns), ...lines.notes.flatMap((note) => wrapText(note, columns))]
  const width = lines.code[0]?.length ?? 0
  if (width > columns || lines.code.length + text.length > rows)
    return [
      `The QR code needs ${width} columns and ${lines.code.length + text.length + 1} rows; enlarge the terminal.`,
      url,
    ].flatMap((line) => wrapText(line, columns).map((part) => [{ text: part }]))
  return [
    ...lines.code.map((line): ScreenRow => [{ text: line, color: 'whiteBright', backgroundColor: 'black' }]),
    ...text.map((line) => [{ text: line }]),
  ]
}

/** The lines of the code, and what to know about it. */
export function describeQrCode(url: string): { code: string[]; notes: string[] } {
  const code = encodeQrCode(url)
  if (code === undefined) return { code: [], notes: ['This URL is too long for a QR code.'] }
  const { hostname = '' } = URL.parse(url) ?? {}
  return {
    code: renderQrCode(code),
    notes: isLocalDomain(hostname) ? ['Names below localhost open on this machine only.'] : [],
  }
}
