import { writeSync } from 'node:fs'
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
  return pino(options, stderr)
}

/** What cannot be written is lost: a full disk or a reader that has gone must not stop what the log tells of. */
const stderr = {
  write(line: string): void {
    try {
      writeSync(2, line)
    } catch {
      // There is nowhere left to say so.
    }
  },
}

/** A log that says nothing. */
export const silentLog: Logger = pino({ level: 'silent' })
