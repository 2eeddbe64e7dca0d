import { type Logger as PinoLogger, pino } from 'pino'

/** A structured log. Secrets are kept out by type (see `Secret`) and by these paths as a second line of defence. */
export type Logger = PinoLogger

const SECRET_KEYS = [
  'authorization',
  'token',
  'authtoken',
  'client_secret',
  'private_key_pem',
  'api_key',
  'password',
]

/** A log of one part, written to stderr so that stdout stays for people and pipes. */
export function createLog(part: string, level: string): Logger {
  const options = {
    name: part,
    level,
    base: null,
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`]), censor: '[hidden]' },
  }
  return pino(options, pino.destination(2))
}

/** A log that says nothing. */
export const silentLog: Logger = pino({ level: 'silent' })
