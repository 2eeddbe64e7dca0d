import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Candidate } from '../candidates.ts'
import { chooseForwards, describePortTunnel, type Setting } from '../forwards.ts'
import { findFreePort, startProgram } from '../processes.ts'

const TIMEOUT = '10s'

/** piko: its server proxies HTTP by host name, and its forwarder beside the server offers TCP ports. */
export async function startPiko({ dir, upstream, link }: Setting): Promise<Candidate> {
  const [proxy, agents, admin, gossip] = await Promise.all(Array.from({ length: 4 }, findFreePort))
  const forwards = (await chooseForwards(upstream)).filter(({ service }) => service !== 'http')
  const edge = await startProgram(
    'piko',
    [
      'server',
      ...['--proxy.bind-addr', `127.0.0.1:${proxy}`, '--upstream.bind-addr', `${link.listenHost}:${agents}`],
      ...['--admin.bind-addr', `127.0.0.1:${admin}`, '--cluster.gossip.bind-addr', `127.0.0.1:${gossip}`],
      ...['--log.level', 'error'],
    ],
    { listens: agents!, host: link.listenHost },
  )
  await link.expose(agents!)
  const write = (name: string, value: object) => {
    const file = join(dir, name)
    writeFileSync(file, JSON.stringify(value)) // Every JSON document is YAML.
    return ['--config.path', file, '--log.level', 'info']
  }
  const listeners = Object.entries(upstream).map(([service, port]) => ({
    endpoint_id: service,
    addr: `127.0.0.1:${port}`,
    protocol: service === 'http' ? 'http' : 'tcp',
    timeout: TIMEOUT,
    access_log: { disable: true },
  }))
  const connect = { url: `http://${link.dialHost}:${agents}`, timeout: TIMEOUT }
  const agentArgs = write('piko-agent.yaml', { listeners, connect, server: { enabled: false } })
  const agent = await link.startRemote('piko', ['agent', 'start', ...agentArgs], {
    prints: new RegExp(`(starting (?:reverse|tcp) proxy[\\s\\S]*){${listeners.length}}`),
  })
  const ports = forwards.map(({ service, remote }) => ({ addr: `127.0.0.1:${remote}`, endpoint_id: service }))
  const forwardArgs = write('piko-forward.yaml', {
    ports,
    connect: { url: `http://127.0.0.1:${proxy}`, timeout: TIMEOUT },
  })
  const forwarder = await startProgram('piko', ['forward', 'start', ...forwardArgs], {
    listens: forwards[0]!.remote,
  })
  return {
    ...describePortTunnel('piko', forwards, { edge, agent, forwarder }),
    ...(upstream.http !== undefined && { http: { port: proxy!, host: 'http.bench' } }),
  }
}
