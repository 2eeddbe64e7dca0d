import { parseMediaType } from './content.ts'
import { decodeText, type Message } from './message.ts'
import { saveFile } from './save-file.ts'

const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/json': 'json',
  'application/pdf': 'pdf',
  'application/xml': 'xml',
  'application/zip': 'zip',
  'image/gif': 'gif',
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/svg+xml': 'svg',
  'image/webp': 'webp',
  'text/css': 'css',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/javascript': 'js',
  'text/plain': 'txt',
  'text/xml': 'xml',
}

interface Props {
  side: 'request' | 'response'
  message: Message
  onNotify(text: string): void
}

/** Copies the decoded body as text, or saves it as a file. */
export function BodyActions({ side, message, onNotify }: Props) {
  const { body, contentType } = message
  const copy = async () => {
    const text = decodeText(body)
    if (text === undefined) return onNotify('The body is not text. Download it instead.')
    try {
      await navigator.clipboard.writeText(text)
      onNotify(`Copied the ${side} body.`)
    } catch {
      onNotify('The browser denied access to the clipboard.')
    }
  }
  const download = () =>
    // The browser must not open it as a page of the agent, whatever it claims to be.
    saveFile(
      new Uint8Array(body),
      `${side}-body.${EXTENSIONS[parseMediaType(contentType)] ?? 'bin'}`,
      'application/octet-stream',
    )
  return (
    <span className="body-actions">
      <button type="button" aria-label={`Copy body of the ${side}`} onClick={() => void copy()}>
        Copy body
      </button>
      <button type="button" aria-label={`Download body of the ${side}`} onClick={download}>
        Download
      </button>
    </span>
  )
}
