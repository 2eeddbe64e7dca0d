import { readFileSync } from 'node:fs'

/** A file operation of a process, with its time in seconds since 1970. */
export type FileOperation =
  | {
      readonly kind: 'write'
      readonly file: string
      readonly time: number
      readonly offset: number
      readonly bytes: Buffer
    }
  | { readonly kind: 'truncate'; readonly file: string; readonly time: number; readonly length: number }
  | { readonly kind: 'sync'; readonly file: string; readonly time: number }

/** The strace command that runs a program and records its writes and syncs for `readTrace`. */
export function straceCommand(log: string): string[] {
  // -D: strace runs as a detached grandchild, so that the program keeps its process id and gets its signals.
  return [
    ...['strace', '-D', '-f', '-q', '-y', '-xx', '-s', '16777216', '-ttt', '-T', '-o', log],
    ...['-e', 'trace=pwrite64,ftruncate,fsync,fdatasync'],
  ]
}

const CALL =
  /^(pwrite64|ftruncate|fsync|fdatasync)\((\d+)<([^>]*)>(?:\(deleted\))?(.*)\) += (-?\d+).*<([\d.]+)>$/
const PWRITE = /^, "([^"]*)", \d+, (\d+)$/
const FTRUNCATE = /^, (\d+)$/

/** The operations of a trace on files that `isTraced` selects. */
export function readTrace(log: string, isTraced: (file: string) => boolean): FileOperation[] {
  const operations: FileOperation[] = []
  const unfinished = new Map<string, { startTime: string; call: string }>()
  for (const line of readFileSync(log, 'latin1').split('\n')) {
    const [, pid, time, text] = /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? []
    if (pid === undefined || time === undefined || text === undefined) continue
    if (text.endsWith(' <unfinished ...>')) {
      unfinished.set(pid, { startTime: time, call: text.slice(0, -' <unfinished ...>'.length) })
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)
    const unfinishedCall = resumed && unfinished.get(pid)
    const callText = unfinishedCall ? unfinishedCall.call + resumed[1]! : text
    const operation = parseOperation(callText, Number(unfinishedCall ? unfinishedCall.startTime : time))
    if (operation !== undefined && isTraced(operation.file)) operations.push(operation)
  }
  return operations
}

function parseOperation(text: string, startTime: number): FileOperation | undefined {
  const [, call, , path, rest, result, duration] = CALL.exec(text) ?? []
  if (call === undefined || Number(result) < 0) return undefined
  const file = decode(path!).toString()
  const time = startTime + Number(duration)
  if (call === 'pwrite64') {
    const [, bytes, offset] = PWRITE.exec(rest!) ?? []
    if (bytes === undefined) throw new Error(`A write could not be parsed: ${text.slice(0, 200)}`)
    return {
      kind: 'write',
      file,
      time,
      offset: Number(offset),
      bytes: decode(bytes).subarray(0, Number(result)),
    }
  }
  if (call === 'ftruncate') return { kind: 'truncate', file, time, length: Number(FTRUNCATE.exec(rest!)![1]) }
  return { kind: 'sync', file, time }
}

function decode(text: string): Buffer {
  return text.startsWith('\\x') ? Buffer.from(text.replaceAll('\\x', ''), 'hex') : Buffer.from(text, 'latin1')
}

/** A file after a power loss: everything synced, and of the rest the fraction that `survives` returns for each write. */
export function simulatePowerLoss(
  before: Buffer,
  operations: readonly FileOperation[],
  survives: (operation: FileOperation) => number,
): Buffer {
  const ends = operations.map((each) => (each.kind === 'write' ? each.offset + each.bytes.length : 0))
  const content = Buffer.alloc(Math.max(before.length, ...ends))
  before.copy(content)
  let length = before.length
  /** Applies the first fraction of an operation: 0 for nothing, 1 for all of it. */
  const apply = (operation: FileOperation, fraction: number) => {
    if (operation.kind === 'truncate' && fraction > 0) {
      content.fill(0, operation.length)
      length = operation.length
    } else if (operation.kind === 'write') {
      const count = operation.bytes.copy(
        content,
        operation.offset,
        0,
        Math.round(operation.bytes.length * fraction),
      )
      if (count > 0) length = Math.max(length, operation.offset + count)
    }
  }
  let pending: FileOperation[] = []
  for (const operation of operations) {
    if (operation.kind !== 'sync') {
      pending.push(operation)
      continue
    }
    for (const each of pending) apply(each, 1)
    pending = []
  }
  for (const each of pending) apply(each, survives(each))
  return content.subarray(0, length)
}
