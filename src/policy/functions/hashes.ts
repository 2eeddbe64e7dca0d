import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { CallContext, Overload } from '../../cel/index.ts'
import { chargeLength, EvaluationError, overload } from '../../cel/index.ts'
import { crc64, xxhash64 } from './checksums.ts'

/** Each returns hexadecimal digits. */
const HASHES: Readonly<Record<string, (bytes: Buffer) => string>> = {
  crc32: (bytes) => crc32(bytes).toString(16).padStart(8, '0'),
  crc64,
  md5: (bytes) => hash('md5', bytes, 'hex'),
  sha1: (bytes) => hash('sha1', bytes, 'hex'),
  sha256: (bytes) => hash('sha256', bytes, 'hex'),
  sha512: (bytes) => hash('sha512', bytes, 'hex'),
  xxhash64,
}

/** What a checksum in JavaScript takes for each byte, in units of the budget. */
const SLOW_COST = 4
const SLOW = ['crc64', 'xxhash64']

/** `hash.sha256(s)`, `s.sha256('base64')` and the like. */
export const hashFunctions: readonly Overload[] = Object.entries(HASHES).flatMap(([name, digest]) => {
  const call = (context: CallContext, text: string, encoding = 'hex') => {
    const bytes = Buffer.from(text)
    if (SLOW.includes(name)) context.charge(SLOW_COST * bytes.length)
    else chargeLength(context, bytes.length)
    if (encoding !== 'hex' && encoding !== 'base64')
      throw new EvaluationError(`${JSON.stringify(encoding.slice(0, 20))} is not an encoding: hex or base64`)
    const digits = digest(bytes)
    return encoding === 'hex' ? digits : Buffer.from(digits, 'hex').toString('base64')
  }
  return [
    `hash.${name}(string)`,
    `hash.${name}(string, string)`,
    `string.${name}()`,
    `string.${name}(string)`,
  ].map((signature) => overload(`${signature} -> string`, call))
})
