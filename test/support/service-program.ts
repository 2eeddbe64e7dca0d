import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { TestContext } from 'node:test'
import { eventually } from './eventually.ts'

/** Starts a program of the system that serves a port, until that accepts connections. It ends with the test. */
export async function startServiceProgram(
  t: TestContext,
  [command, ...args]: readonly [string, ...string[]],
  { port, host = '127.0.0.1', env = {} }: { port: number; host?: string; env?: Record<string, string> },
): Promise<void> {
  const path = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`
  const child = spawn(command, args, { env: { ...process.env, PATH: path, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGTERM')
    await exited
  })
  await eventually(
    async () => {
      if (child.exitCode !== null) throw new Error('exited')
      return accepts(host, port)
    },
    () => `${command} on port ${port}:\n${output}`,
  )
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
