import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { TestContext } from 'node:test'
import { eventually, TIMEOUT_MS } from './eventually.ts'

/** A program that serves a port. */
export interface ServiceProgram {
  stop(): Promise<void>
}

/** Starts a program of the system that serves a port, until that accepts connections. It ends with the test. */
export async function startServiceProgram(
  t: TestContext,
  [command, ...args]: readonly [string, ...string[]],
  {
    port,
    host = '127.0.0.1',
    env = {},
    timeoutMs = TIMEOUT_MS,
  }: { port: number; host?: string; env?: Record<string, string>; timeoutMs?: number },
): Promise<ServiceProgram> {
  const path = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`
  const child = spawn(command, args, { env: { ...process.env, PATH: path, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
  }
  t.after(stop)
  await eventually(
    async () => {
      if (child.exitCode !== null) throw new Error('exited')
      return accepts(host, port)
    },
    () => `${command} on port ${port}:\n${output}`,
    timeoutMs,
  )
  return { stop }
}

async function accepts(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host)
  try {
    await once(socket, 'connect')
    return true
  } finally {
    socket.destroy()
  }
}
