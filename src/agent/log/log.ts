import { closeSync, openSync, writeSync } from 'node:fs'
import { reason } from '../config/file.ts'
import type { Entry, Level, LogFormat } from './format.ts'
import { formatter } from './format.ts'

type Fields = Readonly<Record<string, unknown>>

/** The agent's log. Its messages are an interface: wrappers match on them (docs/agent.md, Logs). */
export interface AgentLog {
  debug(message: string, fields?: Fields): void
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
  crit(message: string, fields?: Fields): void
  /** Keeps a secret out of every later line, wherever it turns up in one. */
  hide(secret: string): void
  /** Whether lines of that level are written at all, for callers whose fields cost something. */
  enabled(level: Level): boolean
  close(): void
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'crit'

const ORDER: Record<Level, number> = { dbug: 0, info: 1, warn: 2, eror: 3, crit: 4 }
const LEVELS: Record<LogLevel, Level> = {
  debug: 'dbug',
  info: 'info',
  warn: 'warn',
  error: 'eror',
  crit: 'crit',
}

/** Where lines go: a function so that tests, the screen and files are all the same. */
export type LogOutput = (line: string) => void

/** A log in one of the three formats. */
export function createAgentLog(options: {
  output: LogOutput
  format: LogFormat
  level: LogLevel
  colours?: boolean
  now?: () => Date
  close?: () => void
}): AgentLog {
  const write = formatter(options.format, options.colours ?? false)
  const least = ORDER[LEVELS[options.level]]
  const secrets = new Set<string>()

  const emit =
    (level: Level) =>
    (message: string, fields: Fields = {}) => {
      if (ORDER[level] < least) return
      const entry: Entry = { time: options.now?.() ?? new Date(), level, message, fields }
      let line = write(entry)
      for (const secret of secrets) line = line.replaceAll(secret, '[hidden]')
      options.output(line)
    }

  return {
    debug: emit('dbug'),
    info: emit('info'),
    warn: emit('warn'),
    error: emit('eror'),
    crit: emit('crit'),
    hide: (secret) => {
      if (secret.length >= 4) secrets.add(secret)
    },
    enabled: (level) => ORDER[level] >= least,
    close: () => options.close?.(),
  }
}

/** A log nobody reads. */
export const silentAgentLog: AgentLog = createAgentLog({ output() {}, format: 'logfmt', level: 'crit' })

/** Opens what `log` names: stdout, stderr, a file to append to, or nothing for `false`. */
export function openLogOutput(
  target: string,
): { output: LogOutput; terminal: boolean; close(): void } | undefined {
  if (target === 'false' || target === '') return undefined
  if (target === 'stdout' || target === 'stderr') {
    const stream = process[target]
    return { output: (line) => stream.write(line), terminal: stream.isTTY === true, close() {} }
  }
  return openFile(target)
}

/** A file to append to. A disk that is full costs lines, never the agent; one sentence says so. */
function openFile(path: string): { output: LogOutput; terminal: boolean; close(): void } {
  const file = openSync(path, 'a', 0o600)
  let open = true
  let told = false
  const attempt = (work: () => void) => {
    if (!open) return
    try {
      work()
    } catch (error) {
      if (!told) process.stderr.write(`WARN:  cannot write the log to ${path}: ${reason(error)}\n`)
      told = true
    }
  }
  return {
    output: (line) => attempt(() => writeSync(file, line)),
    terminal: false,
    close() {
      attempt(() => closeSync(file))
      open = false
    },
  }
}
