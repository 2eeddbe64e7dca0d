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

/** A log of one part; `level` silent keeps tests quiet. */
export function createLog(part: string, level = process.env.ADIT_LOG_LEVEL ?? 'info'): Logger {
  return pino({
    name: part,
    level,
    base: null,
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`]), censor: '[hidden]' },
  })
}

/** A log that says nothing. */
export const silentLog: Logger = pino({ level: 'silent' })
