import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { appendFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createDirectory } from '../../base/process/create-directory.ts'
import { lockFile } from '../../base/process/file-lock.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import { prefixOf } from '../../base/values/id.ts'
import { ConfigError } from '../config/error.ts'
import type { Capture, CaptureStore, StoredMessage } from './capture-store.ts'
import type { MessageCopy } from './message-copy.ts'
import type { CapturedAction } from './policy-actions.ts'

/** The first line of a file; a file without it was not written by the agent and is left alone. */
const HEADER = '{"adit_captures":1}\n'
const PRIVATE_MODE = 0o600
const FLUSH_DELAY_MS = 500

/** Another agent writes the file. */
export class CaptureFileInUse extends Error {
  override name = 'CaptureFileInUse'
}

/** One exchange as a line of the file. */
interface CaptureLine {
  id: string
  tunnel: string
  client: string
  start: number
  duration: number
  request_end?: number
  response_start?: number
  error?: string
  pinned?: true
  policy?: readonly CapturedAction[]
  request: MessageLine
  response?: MessageLine
}

interface MessageLine {
  head: string
  body: string
  size: number
  truncated?: boolean
  redacted?: boolean
}

/** A change of an exchange that has a line already. */
interface PinLine {
  id: string
  pinned: boolean
}

/** Throws if exchanges cannot be kept in the file. A check: nothing is created. */
export function checkCaptureFile(path: string): void {
  try {
    const existing = nearestExisting(path)
    accessSync(existing, constants.W_OK)
    if (existing !== path) readdirSync(existing)
    else if (statSync(path).size > 0) readCaptures(path)
  } catch (error) {
    throw unusable(path, error)
  }
}

/** The path, or its nearest parent that exists. */
function nearestExisting(path: string): string {
  return existsSync(path) ? path : nearestExisting(dirname(path))
}

function readCaptures(path: string): string {
  const text = readFileSync(path, 'latin1')
  if (!text.startsWith(HEADER)) throw new Error('it is not a file of captured requests; choose another path')
  return text
}

function unusable(path: string, error: unknown): ConfigError {
  return new ConfigError([`inspect_db_file ${path} cannot be used: ${describeFileError(error)}`])
}

/**
 * Keeps complete exchanges in a file, so that they survive a restart of the agent. Lines are appended; a file that has
 * grown to the limit of the store is written anew with the newest exchanges. WebSocket messages and events are not kept.
 */
export class CaptureFile {
  readonly #path: string
  readonly #store: CaptureStore
  readonly #onError: (error: Error) => void
  /** Exchanges in the file, and whether their line says that they are pinned. */
  readonly #saved = new WeakMap<Capture, boolean>()
  readonly #pending = new Set<Capture>()
  readonly #unfollow: () => void
  readonly #unlock: () => void
  #rewrite = false
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  /**
   * Loads the exchanges of the file into the store, then follows it. Throws `CaptureFileInUse` if another agent has it, and
   * another error if it cannot be used.
   */
  constructor(path: string, store: CaptureStore, onError: (error: Error) => void) {
    this.#path = path
    this.#store = store
    this.#onError = onError
    this.#unlock = this.#open()
    this.#unfollow = store.follow(
      (capture) => this.#onChange(capture),
      () => {
        this.#pending.clear()
        this.#rewrite = true
        this.#schedule()
      },
    )
  }

  /** Writes what is pending, and stops following the store. */
  async close(): Promise<void> {
    this.#unfollow()
    clearTimeout(this.#timer)
    await this.#flush()
    this.#unlock()
  }

  /** Loads the file; returns what releases it for other agents. */
  #open(): () => void {
    let unlock: (() => void) | undefined
    try {
      createDirectory(dirname(this.#path), 0o700)
      unlock = lockFile(`${this.#path}.lock`)
      if (unlock !== undefined) this.#load()
    } catch (error) {
      unlock?.()
      throw unusable(this.#path, error)
    }
    if (unlock === undefined)
      throw new CaptureFileInUse(`Another agent keeps its captured requests in ${this.#path}.`)
    return unlock
  }

  #load(): void {
    const { size = 0 } = statSync(this.#path, { throwIfNoEntry: false }) ?? {}
    if (size === 0) {
      writeFileSync(this.#path, HEADER, { mode: PRIVATE_MODE })
      chmodSync(this.#path, PRIVATE_MODE)
      this.#bytes = HEADER.length
      return
    }
    const text = readCaptures(this.#path)
    chmodSync(this.#path, PRIVATE_MODE)
    this.#bytes = text.length
    this.#restore(text.slice(HEADER.length))
  }

  #restore(text: string): void {
    const lines = new Map<string, CaptureLine>()
    for (const line of text.split('\n')) {
      const record = parseLine(line)
      if (record === undefined) continue
      if ('request' in record) lines.set(record.id, record)
      else {
        const { pinned: _, ...line } = lines.get(record.id) ?? {}
        if ('request' in line) lines.set(record.id, record.pinned ? { ...line, pinned: true } : line)
      }
    }
    for (const line of [...lines.values()].sort((a, b) => (a.id < b.id ? -1 : 1))) {
      const capture = this.#store.restore({
        id: line.id,
        tunnelName: line.tunnel,
        remoteAddr: line.client,
        startedAt: line.start,
        durationNs: line.duration,
        requestNs: line.request_end,
        responseStartNs: line.response_start,
        error: line.error,
        actions: line.policy ?? [],
        request: toMessage(line.request),
        response: line.response && toMessage(line.response),
      })
      if (line.pinned) this.#store.pin(capture, true)
      this.#saved.set(capture, line.pinned ?? false)
    }
  }

  #onChange(capture: Capture): void {
    if (capture.open || this.#saved.get(capture) === capture.pinned) return
    this.#pending.add(capture)
    this.#schedule()
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_DELAY_MS).unref()
  }

  #flush(): Promise<void> {
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#write()).catch(this.#onError)
    return this.#writing
  }

  async #write(): Promise<void> {
    const captures = [...this.#pending].filter(({ stored }) => stored)
    this.#pending.clear()
    const text = captures.map((capture) => this.#lineOf(capture)).join('')
    if (!this.#rewrite && this.#bytes + text.length <= this.#store.limit) {
      if (text === '') return
      await appendFile(this.#path, text, { mode: PRIVATE_MODE })
      this.#bytes += text.length
    } else await this.#writeAnew()
  }

  /** Half of the limit, so that the next time is not soon. */
  async #writeAnew(): Promise<void> {
    this.#rewrite = false
    let bytes = HEADER.length
    const lines: string[] = []
    const captures = this.#store.list().filter(({ open }) => !open)
    for (const capture of captures.sort((a, b) => Number(b.pinned) - Number(a.pinned))) {
      const line = formatCapture(capture)
      if (bytes + line.length > this.#store.limit / 2) break
      bytes += line.length
      lines.push(line)
      this.#saved.set(capture, capture.pinned)
    }
    const temporaryPath = `${this.#path}.new`
    await writeFile(temporaryPath, HEADER + lines.join(''), { mode: PRIVATE_MODE })
    await rename(temporaryPath, this.#path)
    this.#bytes = bytes
  }

  #lineOf(capture: Capture): string {
    const isSaved = this.#saved.has(capture)
    this.#saved.set(capture, capture.pinned)
    if (!isSaved) return formatCapture(capture)
    return `${JSON.stringify({ id: capture.id, pinned: capture.pinned } satisfies PinLine)}\n`
  }
}

function formatCapture(capture: Capture): string {
  const { request, response, requestNs, responseStartNs, error, pinned, actions } = capture
  return `${JSON.stringify({
    id: capture.id,
    tunnel: capture.tunnelName,
    client: capture.remoteAddr,
    start: capture.startedAt,
    duration: capture.durationNs,
    ...(requestNs !== undefined && { request_end: requestNs }),
    ...(responseStartNs !== undefined && { response_start: responseStartNs }),
    ...(error !== undefined && { error }),
    ...(pinned && { pinned }),
    ...(actions.length > 0 && { policy: actions }),
    request: formatMessage(request),
    ...(response && { response: formatMessage(response) }),
  } satisfies CaptureLine)}\n`
}

function formatMessage(message: MessageCopy): MessageLine {
  return {
    head: message.head.toString('base64'),
    body: message.body().toString('base64'),
    size: message.bodyBytes,
    ...(message.truncated && { truncated: true }),
    ...(!message.exact && { redacted: true }),
  }
}

function toMessage({ head, body, size, truncated = false, redacted = false }: MessageLine): StoredMessage {
  return {
    head: Buffer.from(head, 'base64'),
    body: Buffer.from(body, 'base64'),
    bodyBytes: size,
    truncated,
    exact: !redacted,
  }
}

/** A line that a crash cut off, or that something else wrote, is skipped. */
function parseLine(line: string): CaptureLine | PinLine | undefined {
  try {
    const record = JSON.parse(line) as Partial<CaptureLine> & Partial<PinLine>
    if (typeof record.id !== 'string' || prefixOf(record.id) === undefined) return undefined
    if (record.request === undefined)
      return typeof record.pinned === 'boolean' ? (record as PinLine) : undefined
    const messages = [record.request, ...(record.response ? [record.response] : [])]
    const isComplete =
      typeof record.start === 'number' &&
      typeof record.duration === 'number' &&
      typeof record.tunnel === 'string' &&
      typeof record.client === 'string' &&
      (record.policy === undefined || Array.isArray(record.policy)) &&
      messages.every(
        ({ head, body, size }) =>
          typeof head === 'string' && typeof body === 'string' && typeof size === 'number',
      )
    return isComplete ? (record as CaptureLine) : undefined
  } catch {
    return undefined
  }
}
