import { closeSync, openSync, writeSync } from 'node:fs'
import { describeFileError } from '../config/file.ts'
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
  /** Keeps a secret out of every later line, wherever it turns up in one. */
  hide(secret: string): void
  /** Whether lines of that level are written at all, for callers whose fields cost something. */
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
