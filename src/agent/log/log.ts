import { closeSync, openSync, writeSync } from 'node:fs'
import { describeFileError } from '../../base/text/file-error.ts'
import type { LevelTag, LogEntry, LogFormat } from './format.ts'
import { createFormatter } from './format.ts'

type Fields = Readonly<Record<string, unknown>>

/** The agent's log. Its messages are an interface: wrappers match on them (docs/agent.md, Logs). */
export interface AgentLog {
  debug(message: string, fields?: Fields): void
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
  crit(message: string, fields?: Fields): void
  /** Redacts a secret in all later lines. */
  hide(secret: string): void
  /** Whether a level is enabled; lets callers skip costly fields. */
  enabled(level: LevelTag): boolean
  close(): void
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'crit'

const LEVEL_ORDER: Record<LevelTag, number> = { dbug: 0, info: 1, warn: 2, eror: 3, crit: 4 }
const LEVEL_TAGS: Record<LogLevel, LevelTag> = {
  debug: 'dbug',
  info: 'info',
  warn: 'warn',
  error: 'eror',
  crit: 'crit',
}

/** Receives the formatted lines; a function so that tests, the screen and files look alike. */
export type LogOutput = (line: string) => void

/** Creates a log in one of the three formats. */
export function createAgentLog(options: {
  output: LogOutput
  format: LogFormat
  level: LogLevel
  colours?: boolean
  now?: () => Date
  close?: () => void
}): AgentLog {
  const format = createFormatter(options.format, options.colours ?? false)
  const minLevel = LEVEL_ORDER[LEVEL_TAGS[options.level]]
  const secrets = new Set<string>()

  const emit =
    (level: LevelTag) =>
    (message: string, fields: Fields = {}) => {
      if (LEVEL_ORDER[level] < minLevel) return
      const entry: LogEntry = { time: options.now?.() ?? new Date(), level, message, fields }
      let line = format(entry)
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
    enabled: (level) => LEVEL_ORDER[level] >= minLevel,
    close: () => options.close?.(),
  }
}

/** Discards everything. */
export const silentAgentLog: AgentLog = createAgentLog({ output() {}, format: 'logfmt', level: 'crit' })

/** Opens a log target: stdout, stderr, a file to append to, or nothing for `false`. */
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

/** Appends to a file. A failed write loses lines but never stops the agent; the first one prints a warning. */
function openFile(path: string): { output: LogOutput; terminal: boolean; close(): void } {
  const file = openSync(path, 'a', 0o600)
  let open = true
  let warned = false
  const attempt = (work: () => void) => {
    if (!open) return
    try {
      work()
    } catch (error) {
      if (!warned)
        process.stderr.write(`WARN:  cannot write the log to ${path}: ${describeFileError(error)}\n`)
      warned = true
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
