import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { ForwardOptions } from '../../src/agent/index.ts'
import { startAgent } from '../support/agents.ts'
import { createMountNamespace, type MountNamespace } from '../support/mount-namespace.ts'
import { startPlatform } from '../support/platform.ts'
import { run } from '../support/run.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** The public name of the tunnels. */
export const HOST = 'app.adit.localhost'
/** The roots that programs of Debian trust. */
const ROOTS = '/etc/ssl/certs/ca-certificates.crt'

/** A service as one visitor sees it: directly, or through a tunnel. */
export interface Use {
  /** Without a slash at its end. */
  readonly url: string
  readonly host: string
  readonly port: number
  /** Empty; the home and the working directory of the programs. */
  readonly dir: string
  /** A file with the roots to trust, for programs that take one. */
  readonly rootsFile: string
  /** Runs a program on the visitor's machine, and returns what it printed; fails unless it exits with 0. */
  run(command: readonly [string, ...string[]], env?: Record<string, string>): Promise<string>
}

/**
 * Uses a service without a tunnel and through one, and fails unless both uses return the same. Each has a service of its own.
 * Returns what both have returned.
 */
export async function assertSameUse<T>(
  t: TestContext,
  serve: () => Promise<number>,
  use: (use: Use) => Promise<T>,
  options: Partial<ForwardOptions> = {},
): Promise<T | undefined> {
  const skip = (reason: string): undefined => {
    t.skip(reason)
  }
  if (!existsSync(ROOTS)) return skip(`needs ${ROOTS}: apt-get install -y ca-certificates`)
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform)
  const machine = await createVisitor(t, platform.caPem)
  if (machine === undefined) return skip('the kernel allows no mount namespaces')
  const directly = await use(createUse(`http://127.0.0.1:${await serve()}`, machine))
  const address =
    options.proto === 'tcp' ? {} : { url: platform.credentials.https_url.replace(/\/\/[^:]+/, `//${HOST}`) }
  const { url } = await agent.forward({ ...address, ...options, addr: await serve() })
  const tunneled = await use(createUse(url, machine))
  assert.deepEqual(tunneled, directly)
  return directly
}

interface VisitorMachine {
  readonly namespace: MountNamespace
  readonly rootsFile: string
}

/** A machine that resolves the platform's names and trusts its authority. */
async function createVisitor(t: TestContext, caPem: string): Promise<VisitorMachine | undefined> {
  const dir = createTempDir()
  const [hosts, rootsFile] = [join(dir, 'hosts'), join(dir, 'roots.pem')]
  writeFileSync(hosts, `127.0.0.1 localhost adit.localhost ${HOST}\n`)
  writeFileSync(rootsFile, `${readFileSync(ROOTS, 'utf8')}\n${caPem}`)
  const namespace = await createMountNamespace(t, { files: { '/etc/hosts': hosts, [ROOTS]: rootsFile } })
  return namespace && { namespace, rootsFile }
}

function createUse(url: string, { namespace, rootsFile }: VisitorMachine): Use {
  const { hostname, port } = new URL(url)
  const dir = createTempDir()
  const environment = {
    ...{ PATH: process.env.PATH ?? '', HOME: dir, LANG: 'C.UTF-8' },
    // For libraries that bring roots of their own.
    ...{ NODE_EXTRA_CA_CERTS: rootsFile, REQUESTS_CA_BUNDLE: rootsFile, SSL_CERT_FILE: rootsFile },
  }
  return {
    url: url.replace(/\/$/, ''),
    host: hostname,
    port: Number(port),
    dir,
    rootsFile,
    async run(command, env = {}) {
      const { code, stdout, stderr } = await run(namespace.wrap(['env', `--chdir=${dir}`, ...command]), {
        ...environment,
        ...env,
      })
      assert.equal(code, 0, `${command.join(' ')}:\n${stdout}\n${stderr}`)
      return stdout
    },
  }
}
