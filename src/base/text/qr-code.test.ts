import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { encodeQrCode, renderQrCode } from './qr-code.ts'

const PIXELS_PER_MODULE = 4

/** Reads rendered half blocks back into pixels, and those with zbarimg. */
function decode(lines: readonly string[]): string {
  const directory = createTempDir()
  const rows = lines.flatMap((line) => [
    [...line].map((cell) => cell === '█' || cell === '▀'),
    [...line].map((cell) => cell === '█' || cell === '▄'),
  ])
  const pixels = rows.flatMap((row) => {
    const wide = row.flatMap((light) => new Array<number>(PIXELS_PER_MODULE).fill(light ? 255 : 0))
    return new Array<number[]>(PIXELS_PER_MODULE).fill(wide).flat()
  })
  const width = rows[0]!.length * PIXELS_PER_MODULE
  const file = join(directory, 'code.pgm')
  const header = `P5 ${width} ${pixels.length / width} 255\n`
  writeFileSync(file, Buffer.concat([Buffer.from(header), Buffer.from(pixels)]))
  const { stdout } = spawnSync('zbarimg', ['--quiet', '--raw', '--nodbus', file], { encoding: 'utf8' })
  return stdout.replace(/\n$/, '')
}

test('a reader finds the URL in codes of every version', () => {
  // The largest text of each version: data codewords without mode, length and terminator.
  for (const [index, length] of [17, 32, 53, 78, 106, 134, 154, 192, 230, 271].entries()) {
    const text = `https://${'a1-'.repeat(100)}`.slice(0, length)

    const code = encodeQrCode(text)

    assert.equal(code?.length, 21 + 4 * index)
    assert.equal(decode(renderQrCode(code)), text)
  }
})

test('texts of many lengths, which use every mask, are read', () => {
  for (let length = 1; length <= 120; length += 7) {
    const text = Array.from({ length }, (_, index) => ((index * 7 + length) % 36).toString(36)).join('')

    assert.equal(decode(renderQrCode(encodeQrCode(text)!)), text)
  }
})

test('a text that no version holds has no code', () => {
  assert.equal(encodeQrCode('x'.repeat(272)), undefined)
})
