import { basename } from 'node:path'
import { CommandFailure } from '../base/process/command-line.ts'
import type { Logger } from '../base/process/log.ts'
import { errorMessage } from '../base/text/error-message.ts'
import type { Clock } from '../base/values/clock.ts'
import { formatTimestamp } from '../base/values/clock.ts'
import {
  compileIpFile,
  type FactKind,
  factKindsOf,
  type IpData,
  NO_IP_DATA,
  openIpData,
} from '../policy/index.ts'
import type { IpDataFile, IpDataFiles } from '../store/index.ts'
import type { Lifecycle } from './process/lifecycle.ts'

/** How often a process asks for changes. Imports are rare, and a list of names is read. */
const POLL_MS = 15_000
/** Each process holds the files in memory. */
const MAX_TOTAL_BYTES = 512 * 1024 * 1024

/** Tells which facts the imported files have. A process without traffic keeps no file in memory for that. */
export function createFactKindReader(
  files: Pick<IpDataFiles, 'list' | 'read'>,
): () => Promise<ReadonlySet<FactKind>> {
  let known: { readonly digests: string; readonly kinds: ReadonlySet<FactKind> } | undefined
  return async () => {
    const list = await files.list()
    const digests = list.map(({ digest }) => digest).join()
    if (known?.digests === digests) return known.kinds
    const kinds = new Set<FactKind>()
    for (const file of list) {
      const bytes = await files.read(file)
      if (bytes !== undefined) for (const kind of factKindsOf([bytes])) kinds.add(kind)
    }
    known = { digests, kinds }
    return kinds
  }
}

/** The imported files as the edge of this process uses them: loaded at the start, and again when they change. */
export function followIpData(
  files: Pick<IpDataFiles, 'list' | 'read'>,
  log: Logger,
  pollMs = POLL_MS,
): IpData & Lifecycle {
  let data = NO_IP_DATA
  let digests = ''
  let timer: NodeJS.Timeout | undefined
  let loading: Promise<void> | undefined

  async function load(): Promise<void> {
    const list = await files.list()
    const currentDigests = list.map(({ digest }) => digest).join()
    if (currentDigests === digests) return
    const contents: Buffer[] = []
    for (const file of list) {
      const bytes = await files.read(file)
      if (bytes === undefined) return // Replaced meanwhile; the next poll reads the new one.
      contents.push(bytes)
    }
    data = openIpData(contents)
    digests = currentDigests
    log.info({ files: list.map(({ name }) => name) }, 'IP data loaded')
  }

  // Without the database, or with a file that cannot be read, what was loaded before stays.
  const refresh = () => {
    loading ??= load()
      .catch((err: unknown) => log.warn({ err }, 'IP data cannot be loaded'))
      .finally(() => {
        loading = undefined
      })
    return loading
  }

  return {
    lookUp: (address) => data.lookUp(address),
    async start() {
      await refresh()
      timer = setInterval(() => void refresh(), pollMs)
    },
    async stop() {
      clearInterval(timer)
      await loading
    },
  }
}

/** `adit server ipdata import`: checks and stores a file; returns what is said about it. */
export async function importIpData(
  files: IpDataFiles,
  { path, bytes, category }: { path: string; bytes: Buffer; category: string | undefined },
  clock: Pick<Clock, 'now'>,
): Promise<string> {
  const name = basename(path)
  const compiled = compileOrFail(path, bytes, category)
  const others = (await files.list()).filter((file) => file.name !== name)
  if (others.reduce((sum, { size }) => sum + size, compiled.length) > MAX_TOTAL_BYTES)
    throw new CommandFailure(
      `IP data is limited to ${MAX_TOTAL_BYTES / 1024 / 1024} MiB in total. Remove a file first: adit server ipdata remove NAME.`,
    )
  await files.put(name, compiled, clock.now())
  return `${name} is imported; every node uses it within ${POLL_MS / 1000} seconds.`
}

function compileOrFail(path: string, bytes: Buffer, category: string | undefined): Buffer {
  try {
    return compileIpFile(bytes, category)
  } catch (error) {
    throw new CommandFailure(`${path} cannot be imported: ${errorMessage(error)}`)
  }
}

/** A line for `adit server ipdata list`. */
export const describeIpDataFile = ({ name, size, importedAt }: IpDataFile): string =>
  `${name}  ${Math.ceil(size / 1024)} KiB  ${formatTimestamp(importedAt)}`
