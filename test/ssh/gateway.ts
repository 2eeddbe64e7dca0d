import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ConcurrencyLimiter } from '../../src/base/io/sockets/concurrency-limiter.ts'
import { silentLog } from '../../src/base/process/log.ts'
import { Secret } from '../../src/base/values/secret.ts'
import {
  Binder,
  createHostIdentity,
  createResumeTokens,
  createSshGateway,
  generateHostKeys,
  Registry,
  RequestLog,
} from '../../src/sessions/index.ts'
import type { TestPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'

const SHORT_LIMITS = { keepaliveIntervalMs: 200, silenceTimeoutMs: 500 }

/** Starts the gateway alone, with short keepalives and one authorized key. */
export async function startGateway(
  t: TestContext,
  {
    sessions = new ConcurrencyLimiter({ total: 100 }),
    ...options
  }: Partial<Pick<Parameters<typeof createSshGateway>[0], 'sessions' | 'windows' | 'limits'>> = {},
) {
  const keyFile = join(createTempDir(), 'id')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keyFile])
  const [, blob = ''] = (await readFile(`${keyFile}.pub`, 'utf8')).split(' ')
  const ports = { acquire: async (port?: number) => port ?? 20_000, release() {} }
  const registry = new Registry({ ports })
  const address = { domain: 'adit.test', httpPort: 80, httpsPort: 443, tcpHost: 'tcp.adit.test' }
  const names = {
    isPlatformName: () => false,
    domain: async () => undefined,
    ownsDomain: async () => false,
    address: async () => undefined,
    edgeAt: async () => false,
  }
  const resume = createResumeTokens(new Secret(randomBytes(32)))
  const gateway = createSshGateway({
    registry,
    binder: new Binder({ registry, reservations: names, address, resume }),
    address,
    hostIdentity: createHostIdentity(new Secret(generateHostKeys())),
    requestLog: new RequestLog(),
    authenticate: async (key) =>
      key.toString('base64') === blob
        ? { accountId: 'ac_1', credentialId: 'sshcr_1', ownerId: 'usr_1', acl: [] }
        : undefined,
    region: 'us',
    log: silentLog,
    sessions,
    limits: SHORT_LIMITS,
    ...options,
  })
  const { port } = await gateway.listen(0, '127.0.0.1')
  t.after(async () => {
    await gateway.close()
    registry.close()
  })
  return { registry, gateway, port, keyFile }
}

/** Returns the part of a platform that `startSsh` uses. */
export function platformAt(port: number): TestPlatform {
  return { credentials: { ssh_addr: `127.0.0.1:${port}` } } as TestPlatform
}
