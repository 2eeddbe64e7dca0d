import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { CommandFailure } from '../../base/process/command-line.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import { ROLES, type ServerSettings } from '../settings/settings.ts'
import type { Successor } from './successor.ts'

/** Program and arguments of a release. */
type Program = readonly [string, ...string[]]

/** What `adit server upgrade` sends: the release to start, and how long it may take until it serves. */
interface UpgradeRequest {
  readonly program: Program
  /** Absent from the command of an earlier release. */
  readonly timeoutMs?: number
}

/** What it is told; the connection ends with the process. */
type UpgradeReport = { readonly ready: Successor } | { readonly failed: string }

/**
 * The socket at which a server takes the command of its operator. Its name is that of the first role of the process, since
 * each role is run once on a data directory.
 */
function socketPath({ dataDir, roles }: Pick<ServerSettings, 'dataDir' | 'roles'>): string {
  return join(dataDir, `${ROLES.find((role) => roles.has(role))}.sock`)
}

/** Upgrades the server whenever `adit server upgrade` asks for it; resolves once a new release has taken over. */
export async function acceptUpgrades(
  settings: Pick<ServerSettings, 'dataDir' | 'roles' | 'upgradeTimeout'>,
  start: (program: Program, timeoutMs: number) => Promise<Successor>,
): Promise<void> {
  const { promise: replaced, resolve } = Promise.withResolvers<void>()
  let current: Promise<Successor> | undefined
  const path = socketPath(settings)
  const server = createServer((socket) => {
    // The command may have gone away, or waits for the end of this process.
    socket.on('error', () => {})
    socket.unref()
    createInterface({ input: socket }).once('line', (line) => {
      void upgrade(line).then(
        (ready) => {
          report(socket, { ready })
          resolve()
        },
        (error: unknown) => {
          report(socket, { failed: errorMessage(error) })
          socket.end()
        },
      )
    })
  })

  async function upgrade(line: string): Promise<Successor> {
    if (current !== undefined) throw new CommandFailure('An upgrade of this server is already in progress.')
    const { program, timeoutMs = settings.upgradeTimeout } = JSON.parse(line) as UpgradeRequest
    current = start(program, timeoutMs)
    current.catch(() => {
      current = undefined
    })
    return current
  }

  // What a process that was killed has left behind: the role is this one's now.
  await rm(path, { force: true })
  // A command starts a program as this user, so it is for this user alone.
  const umask = process.umask(0o177)
  try {
    server.listen(path)
  } finally {
    process.umask(umask)
  }
  await once(server, 'listening')
  server.unref()
  await replaced
}

function report(socket: Socket, message: UpgradeReport): void {
  socket.write(`${JSON.stringify(message)}\n`)
}

/** Asks the running server to let a release take over; resolves once the former one has ended. */
export async function requestUpgrade(
  settings: Pick<ServerSettings, 'dataDir' | 'roles' | 'upgradeTimeout'>,
  program: Program,
  print: (text: string) => void,
): Promise<void> {
  const socket = createConnection(socketPath(settings))
  const closed = once(socket, 'close')
  try {
    await once(socket, 'connect')
  } catch (error) {
    throw new CommandFailure(
      `No server that can be upgraded is running on the data directory ${settings.dataDir} (${describeFileError(error)}). Set its directory with --data-dir, and its roles if they are split across processes.`,
    )
  }
  // A server that was killed resets the connection, which ends the loop below.
  socket.on('error', () => {})
  print('Starting the new release beside the running one …')
  const request: UpgradeRequest = { program, timeoutMs: settings.upgradeTimeout }
  socket.write(`${JSON.stringify(request)}\n`)
  let successor: Successor | undefined
  for await (const line of createInterface({ input: socket })) {
    const message = JSON.parse(line) as UpgradeReport
    if ('failed' in message) throw new CommandFailure(message.failed)
    successor = message.ready
    print(
      `Adit ${successor.version} (process ${successor.pid}) is serving; the previous release is finishing open requests …`,
    )
  }
  await closed
  if (successor === undefined)
    throw new CommandFailure('The server exited before the new release was ready. Its log says why.')
  print('The previous release has exited.')
}
