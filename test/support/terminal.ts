import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createTempDir } from './temp-dir.ts'

/** A real terminal, emulated by tmux. */
export interface Terminal {
  /** The visible lines, without spaces at their ends. */
  lines(): string[]
  text(): string
  /** The visible lines with the escape sequences of their colours. */
  styledText(): string
  /** Whether a program has switched to the alternate screen. */
  isAlternate(): boolean
  /** Whether the cursor is shown. */
  hasCursor(): boolean
  /** Presses keys, by their names in tmux: `q`, `C-c`. */
  press(...keys: string[]): void
  resize(columns: number, rows: number): void
  /** Process id of the program that the shell runs. */
  programPid(): number
  /** Closes the window, as a person does with a program still running in it. */
  close(): void
}

/** Opens a terminal whose shell runs a script; it ends with the test. */
export function openTerminal(
  t: TestContext,
  {
    script,
    columns,
    rows,
    env,
  }: { script: string; columns: number; rows: number; env: Record<string, string> },
): Terminal {
  const directory = createTempDir()
  const socket = join(directory, 'socket')
  const configuration = join(directory, 'tmux.conf')
  // The status line would take a row.
  writeFileSync(configuration, 'set -g status off\n')
  const tmux = (...args: string[]): string => {
    const { stdout, stderr, status } = spawnSync('tmux', ['-S', socket, '-f', configuration, ...args], {
      encoding: 'utf8',
      env: { ...env, TERM: 'xterm-256color', LC_ALL: 'C.UTF-8' },
    })
    if (status !== 0) throw new Error(`tmux ${args[0]}: ${stderr}`)
    return stdout
  }
  const close = () => {
    spawnSync('tmux', ['-S', socket, 'kill-server'])
  }
  t.after(close)
  tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), 'sh', '-c', script)
  const show = (format: string) => tmux('display-message', '-p', format).trim()
  const lines = () => tmux('capture-pane', '-p').replace(/\n$/, '').split('\n')
  return {
    lines,
    text: () => lines().join('\n'),
    styledText: () => tmux('capture-pane', '-p', '-e'),
    isAlternate: () => show('#{alternate_on}') === '1',
    hasCursor: () => show('#{cursor_flag}') === '1',
    press: (...keys) => {
      tmux('send-keys', ...keys)
    },
    resize: (width, height) => {
      tmux('resize-window', '-x', String(width), '-y', String(height))
    },
    close,
    programPid() {
      const shell = show('#{pane_pid}')
      return Number(readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').split(' ')[0])
    },
  }
}
