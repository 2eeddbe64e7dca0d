import { writeSync } from 'node:fs'
import { type Logger as PinoLogger, pino } from 'pino'
import { serializeError } from '../text/serialize-error.ts'

/** A structured log. The type `Secret` keeps secrets out of it; redaction of these paths is a second line of defence. */
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

/** Creates the log of a process; each part gets a child that names it. It writes to stderr; stdout is for command output. */
export function createLog(level: string): Logger {
  const options = {
    level,
    base: null,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (error: unknown) => serializeError(error) },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`]), censor: '[hidden]' },
  }
  return pino(options, stderr)
}

/** Drops lines that cannot be written: a full disk or a closed pipe must not stop the server. */
const stderr = {
  write(line: string): void {
    try {
      writeSync(2, line)
    } catch {
      // There is nowhere left to report it.
    }
  },
}

/** A log that discards everything. */
export const silentLog: Logger = pino({ level: 'silent' })
