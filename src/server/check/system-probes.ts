import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { createOutbound } from '../../base/outbound/outbound.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { ChallengeRecords, createResolver, readCertificateFiles } from '../../certs/index.ts'
import { nameServerNames, queryServer } from '../../dns/index.ts'
import { configureDnsProvider } from '../settings/dns-provider.ts'
import { certificatePaths, type ServerSettings } from '../settings/settings.ts'
import { type CheckedSettings, type CheckResult, checkDatabase, checkNetwork, checkSetup } from './check.ts'

type ProbedSettings = CheckedSettings &
  Pick<
    ServerSettings,
    'dnsResolver' | 'acmeCa' | 'outboundAllow' | 'dnsProvider' | 'dnsCredentials' | 'tlsCert' | 'tlsKey'
  >

/** Runs `adit server check` on this machine. */
export async function runCheck(
  settings: ProbedSettings & Pick<ServerSettings, 'databaseUrl'>,
): Promise<{ results: readonly CheckResult[]; passed: boolean }> {
  const results = [...(await runDatabaseCheck(settings)), ...(await runChecks(settings, checkSetup))]
  return { results, passed: results.every(({ state }) => state !== 'failed') }
}

/** Runs the checks of the PostgreSQL database, if there is one. */
export async function runDatabaseCheck({
  databaseUrl,
}: Pick<ServerSettings, 'databaseUrl'>): Promise<CheckResult[]> {
  if (databaseUrl === undefined) return []
  const { probePostgres } = await import('../../store/index.ts')
  return checkDatabase(() => probePostgres(databaseUrl), systemClock)
}

/** Runs the checks that need no running server. */
export function runNetworkChecks(settings: ProbedSettings): Promise<CheckResult[]> {
  return runChecks(settings, checkNetwork)
}

async function runChecks(settings: ProbedSettings, check: typeof checkSetup): Promise<CheckResult[]> {
  const outbound = createOutbound({
    allow: settings.outboundAllow,
    ...(settings.acmeCa === undefined ? {} : { extraCa: [await readFile(settings.acmeCa, 'utf8')] }),
  })
  try {
    const resolver = createResolver(settings.dnsResolver)
    const provider = await configureDnsProvider(settings, outbound)
    const paths = certificatePaths(settings)
    const nameServers = nameServerNames(settings.domain)
    const records =
      provider && new ChallengeRecords({ provider, outbound, resolver, nameServers, log: silentLog })
    return await check(settings, {
      resolver,
      locateChallenge:
        records &&
        (async (name) => {
          const location = await records.locate(name)
          if (location !== undefined)
            await records.requireZones([location], AbortSignal.timeout(PROVIDER_TIMEOUT_MS))
          return location
        }),
      dial,
      queryDns: (host, port, name, transport) =>
        queryServer({ host, port }, { name, type: 'SOA' }, transport),
      certificate: probeCertificate,
      readFiles: paths && (() => readCertificateFiles(paths, settings.domain)),
      fetch: (url) => outbound.fetch(url),
      clock: systemClock,
    })
  } finally {
    await outbound.close()
  }
}

const DIAL_TIMEOUT_MS = 3000
const PROVIDER_TIMEOUT_MS = 30_000

function dial(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal: AbortSignal.timeout(DIAL_TIMEOUT_MS) })
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
    socket.on('error', reject)
    socket.once('close', () => reject(new Error('the connection was closed')))
  })
}

function probeCertificate(
  host: string,
  port: number,
  servername: string,
): Promise<{ trusted: boolean; reason: string }> {
  return new Promise((resolve, reject) => {
    const socket = tlsConnect({ host, port, servername, rejectUnauthorized: false })
    const timer = setTimeout(() => socket.destroy(new Error('no answer in time')), DIAL_TIMEOUT_MS)
    socket.once('secureConnect', () => {
      const reason = String(socket.authorizationError ?? '')
      resolve({ trusted: socket.authorized, reason })
      socket.destroy()
    })
    socket.once('close', () => {
      clearTimeout(timer)
      reject(new Error('the connection was closed'))
    })
    socket.on('error', reject)
  })
}
