import { Type } from 'typebox'
import { moment } from './formats.ts'
import { InvalidValue, list, nullable, plain, text } from './value.ts'

/** Sizes of RSA keys that authorities may have. */
export const keySize = plain<number>(Type.Enum([2048, 4096]), 2048)

export const principals = list(
  text(255, (value) =>
    value === '' || /[,\0\r\n]/.test(value) ? 'must be a name without commas or line ends.' : undefined,
  ),
  { maxItems: 256 },
)

const FIRST_SECOND = '1970-01-01T00:00:00Z'

/** A time of a certificate, which counts seconds from 1970. It may be left open at creation; the service fills it in. */
export const openMoment = nullable({
  ...moment,
  check(value: string, at: string) {
    const time = moment.check(value, at)
    if (time < FIRST_SECOND)
      throw new InvalidValue(at, `${at}: the time of a certificate must lie between the years 1970 and 9999.`)
    return time
  },
})
