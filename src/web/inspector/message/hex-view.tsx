import { useMemo, useState } from 'react'
import { ScrollRegion } from '../../shared/scroll-region.tsx'

const PAGE_BYTES = 16 * 1024
const ROW_BYTES = 16

/** A hex dump, sixteen bytes per row. */
export function HexView({ bytes }: { bytes: Uint8Array }) {
  const [end, setEnd] = useState(PAGE_BYTES)
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
  for (let offset = 0; offset < bytes.length; offset += ROW_BYTES) {
    const row = [...bytes.subarray(offset, offset + ROW_BYTES)]
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const characters = row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·')).join('')
    lines.push(`${offset.toString(16).padStart(6, '0')}  ${hex.padEnd(ROW_BYTES * 3 - 1)}  ${characters}`)
  }
  return lines.join('\n')
}
