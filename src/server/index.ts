import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { createApi, type Online } from '../api/index.ts'
import { createAccount, createAuth, firstAccount, type NewAccount } from '../auth/index.ts'
import { systemClock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import { openStore } from '../store/index.ts'
import { type CredentialsFile, readCredentialsFile, writeCredentialsFile } from './credentials-file.ts'
import { openRootAuthority } from './root-authority.ts'
import type { Settings } from './settings.ts'
import { VERSION } from './version.ts'

/** A running platform. */
export interface RunningServer {
  readonly credentials: CredentialsFile
  /** Set on the very first start, when the account was made. */
  readonly made: NewAccount | undefined
  stop(): Promise<void>
}

/** Something that starts and stops with the server. */
interface Part {
  start(): Promise<void>
  stop(): Promise<void>
}

const nobodyOnline: Online = {
  sessions: () => [],
  tunnels: () => [],
  endpoints: () => [],
  tunnelsWith: () => [],
  command: async () => undefined,
}

/** Starts parts one after the other; when one fails, those before it are stopped again. */
async function startInOrder(parts: readonly Part[]): Promise<() => Promise<void>> {
  const running: Part[] = []
  const stop = async () => {
    for (const part of running.splice(0).reverse()) await part.stop()
  }
  try {
    for (const part of parts) {
      await part.start()
      running.push(part)
    }
  } catch (error) {
    await stop()
    throw error
  }
  return stop
}

/** Wires the parts and starts them; the only file that knows them all. */
export async function startServer(settings: Settings): Promise<RunningServer> {
  const log = createLog('adit', settings.logLevel)
  const clock = systemClock
  await mkdir(settings.dataDir, { recursive: true, mode: 0o700 })
  const store = await openStore({
    url: settings.databaseUrl,
    dataDir: settings.dataDir,
    masterKeyFile: settings.masterKeyFile ?? join(settings.dataDir, 'master.key'),
    clock,
    log,
  })
  try {
    const { file: caFile } = await openRootAuthority(store, settings.dataDir)
    const made =
      (await firstAccount(store)) === undefined
        ? await createAccount(store, { name: 'default', email: `admin@${settings.domain}`, clock })
        : undefined
    const registry = new Registry()
    const auth = createAuth({ store, clock })
    let apiUrl = settings.apiUrl ?? ''
    const httpsPort = () => settings.publicHttpsPort ?? settings.httpsAddr?.port ?? 443
    const tcpHost = settings.domain.endsWith('localhost') ? 'localhost' : `tcp.${settings.domain}`

    const api = createApi({
      store,
      parts: { auth, online: nobodyOnline },
      config: {
        apiUrl: () => apiUrl,
        domain: settings.domain,
        region: settings.region,
        idpUrl: () => `https://idp.${settings.domain}${httpsPort() === 443 ? '' : `:${httpsPort()}`}`,
        httpsPort,
        tcpHost,
        tcpPorts: settings.tcpPorts,
        portInUse: () => false,
        platformHosts: () => [`idp.${settings.domain}`],
        acme: settings.acmeDirectory !== undefined,
        rateLimit: settings.apiRateLimit,
        version: VERSION,
      },
      clock,
      log,
      metrics: registry,
    })

    const stopParts = await startInOrder([
      {
        async start() {
          if (settings.apiAddr === undefined || !settings.roles.has('api')) return
          const bound = await api.listen(settings.apiAddr)
          const host = settings.apiAddr.host.includes(':')
            ? `[${settings.apiAddr.host}]`
            : settings.apiAddr.host
          apiUrl = settings.apiUrl ?? `http://${host}:${bound.port}`
        },
        stop: () => api.close(),
      },
    ])

    const before = await readCredentialsFile(settings.dataDir)
    const credentials: CredentialsFile = {
      api_url: apiUrl,
      api_key: made?.apiKey.reveal() ?? before?.api_key ?? null,
      authtoken: made?.authtoken.reveal() ?? before?.authtoken ?? null,
      agent_addr: null,
      ca_file: caFile,
      http_url: null,
      https_url: null,
      ssh_addr: null,
    }
    await writeCredentialsFile(settings.dataDir, credentials)
    return {
      credentials,
      made,
      async stop() {
        await stopParts()
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}
