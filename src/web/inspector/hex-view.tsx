import { useMemo, useState } from 'react'
import { ScrollRegion } from '../shared/scroll-region.tsx'

const STEP = 16 * 1024
const ROW = 16

/** Bytes in hexadecimal and as characters, sixteen a row. */
export function HexView({ bytes }: { bytes: Uint8Array }) {
  const [end, setEnd] = useState(STEP)
  const text = useMemo(() => hexDump(bytes.subarray(0, end)), [bytes, end])
  return (
    <>
      <ScrollRegion label="Bytes">
        <pre className="hex">{text}</pre>
      </ScrollRegion>
      {bytes.length > end && (
        <p className="note">
          {end.toLocaleString('en')} of {bytes.length.toLocaleString('en')} bytes are shown.{' '}
          <button type="button" onClick={() => setEnd(end * 4)}>
            Show more
          </button>
        </p>
      )}
    </>
  )
}

function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += ROW) {
    const row = [...bytes.subarray(at, at + ROW)]
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const characters = row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·')).join('')
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(ROW * 3 - 1)}  ${characters}`)
  }
  return lines.join('\n')
}
