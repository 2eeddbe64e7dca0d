import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'
import type { AgentSession } from '../../protocol/index.ts'
import { startAgentSession } from '../../protocol/index.ts'
import type { AgentKeys } from '../config/keys.ts'
import type { Env } from '../config/paths.ts'
import { writePrivately } from '../config/write.ts'
import { dialServer } from '../connect/dial.ts'
import { type AgentSettings, resolveSettings } from '../settings.ts'
import { VERSION } from '../version.ts'

interface Check {
  section: string
  title: string
  ok: boolean
  detail: string
}

/** Looks at every step between here and a working tunnel; gives the exit code. */
export async function diagnose(
  keys: AgentKeys,
  options: { ipv6: boolean; report: string | undefined },
  env: Env,
  write: (text: string) => void,
): Promise<number> {
  const checks: Check[] = []
  const check = async (section: string, title: string, work: () => Promise<string>): Promise<boolean> => {
    let result: Check
    try {
      result = { section, title, ok: true, detail: await work() }
    } catch (error) {
      result = { section, title, ok: false, detail: (error as Error).message }
    }
    if (checks.at(-1)?.section !== section) write(`${checks.length > 0 ? '\n' : ''}${section}\n`)
    checks.push(result)
    write(
      `  ${title.padEnd(44)} ${result.ok ? '[ OK ]' : '[ WARN ]'}${result.ok && result.detail ? ` ${result.detail}` : ''}\n`,
    )
    return result.ok
  }

  await check('This machine', 'Name localhost', async () => {
    const addresses = await lookup('localhost', { all: true })
    return addresses.map(({ address }) => address).join(', ')
  })
  let settings: AgentSettings | undefined
  await check('This machine', 'Configuration and server address', async () => {
    settings = resolveSettings(keys, env)
    return `${settings.location.host}:${settings.location.port}`
  })
  if (settings) await checkServer(settings, options.ipv6, check)

  const failed = checks.filter(({ ok }) => !ok)
  if (failed.length > 0) {
    write('\nProblems found:\n')
    for (const { section, title, detail } of failed)
      write(`  ${section}: ${title}\n    ${detail.replaceAll('\n', '\n    ')}\n`)
  } else write('\nNo problem was found.\n')
  if (options.report !== undefined) {
    const report = {
      version: VERSION,
      node: process.version,
      platform: process.platform,
      config: sanitised(keys),
      checks,
    }
    writePrivately(options.report, `${JSON.stringify(report, null, 2)}\n`)
    write(`The report was written to ${options.report}\n`)
  }
  return failed.length > 0 ? 1 : 0
}

async function checkServer(
  settings: AgentSettings,
  ipv6: boolean,
  check: (section: string, title: string, work: () => Promise<string>) => Promise<boolean>,
): Promise<void> {
  const { location, dial } = settings
  const section = `Server ${location.host}:${location.port}`
  const proxied = dial.proxy !== undefined
  if (!proxied) {
    const family = ipv6 ? 6 : 0
    const resolved = await check(
      section,
      'Name resolution',
      async () => (await lookup(location.host, { family })).address,
    )
    if (!resolved) return
    if (
      !(await check(section, 'TCP connection', () =>
        openTcp(location.host, location.port, family, dial.timeoutMs),
      ))
    )
      return
  }
  if (
    !(await check(section, proxied ? 'TLS through the proxy' : 'TLS and certificate', async () => {
      const socket = await dialServer(location, dial)
      socket.destroy()
      return socket.getProtocol() ?? ''
    }))
  )
    return
  let session: AgentSession | undefined
  await check(section, 'Agent protocol and authtoken', async () => {
    session = await startAgentSession(await dialServer(location, dial), {
      identity: {
        authtoken: location.authtoken,
        version: VERSION,
        userAgent: `adit/${VERSION}`,
        clientType: 'adit',
        os: process.platform,
        arch: process.arch,
        metadata: 'diagnose',
        commands: {
          restart: 'a diagnosis ends by itself',
          stop: 'a diagnosis ends by itself',
          update: 'a diagnosis ends by itself',
        },
      },
      onProxy: (_header, stream) => stream.reset(),
      onCommand: () => Promise.resolve(),
      onClose() {},
    })
    return `account ${session.welcome.Extra.AccountName || '-'}, region ${session.welcome.Extra.Region || '-'}`
  })
  session?.close()
}

function openTcp(host: string, port: number, family: number, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, family, timeout: timeoutMs })
    socket.once('timeout', () => socket.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)))
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.destroy()
      resolve('')
    })
  })
}

/** The configuration without what must not be shown. */
function sanitised({ authtoken, api_key, proxy_url, ...rest }: AgentKeys): object {
  const hidden = (value: string | undefined) => (value === undefined ? undefined : '[hidden]')
  return { ...rest, authtoken: hidden(authtoken), api_key: hidden(api_key), proxy_url: hidden(proxy_url) }
}
