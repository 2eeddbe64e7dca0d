import { Type } from 'typebox'
import { moment } from './formats.ts'
import { list, nullable, plain, text } from './value.ts'

/** Sizes of RSA keys that authorities may have. */
export const keySize = plain<number>(Type.Enum([2048, 4096]), 2048)

export const principals = list(
  text(255, (value) =>
    value === '' || /[,\0\r\n]/.test(value) ? 'must be a name without commas or line ends.' : undefined,
  ),
  { maxItems: 256 },
)

/** A time that may be left open at creation; the service fills it in. */
export const openMoment = nullable(moment)
