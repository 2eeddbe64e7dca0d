import { useEffect, useState } from 'react'
import type { AgentStatus, TunnelMetrics, TunnelView } from '../../agent/local-api/page-data.ts'
import { Plot } from '../shared/plot.tsx'
import { ScrollRegion } from '../shared/scroll-region.tsx'
import { formatBytes, formatDuration } from '../shared/units.ts'
import { getStatus, listTunnels } from './api.ts'

const REFRESH_INTERVAL_MS = 2000
const MAX_SAMPLES = 60

interface StatusSnapshot {
  status: AgentStatus
  tunnels: readonly TunnelView[]
  /** Requests per second of each tunnel, oldest first. */
  rates: ReadonlyMap<string, readonly number[]>
  time: number
}

/** The agent, its tunnels and their metrics, refreshed every two seconds. */
export function StatusPage() {
  const [snapshot, setSnapshot] = useState<StatusSnapshot>()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    let stopped = false
    const refresh = async () => {
      try {
        const [status, tunnels] = await Promise.all([getStatus(), listTunnels()])
        if (stopped) return
        setSnapshot((previous) => ({
          status,
          tunnels,
          time: performance.now(),
          rates: addRates(previous, tunnels),
        }))
        setProblem('')
      } catch (error) {
        if (!stopped) setProblem((error as Error).message)
      }
      if (!stopped) timer = setTimeout(refresh, REFRESH_INTERVAL_MS)
    }
    void refresh()
    return () => {
      stopped = true
      clearTimeout(timer)
    }
  }, [])
  return (
    <main className="status">
      <h1>Agent</h1>
      {problem !== '' && <p className="note error">{problem}</p>}
      {snapshot && <Facts status={snapshot.status} />}
      <h2>Tunnels</h2>
      {snapshot?.tunnels.length === 0 && <p className="note">No tunnels running.</p>}
      {snapshot?.tunnels.map((tunnel) => (
        <TunnelCard key={tunnel.ID} tunnel={tunnel} rates={snapshot.rates.get(tunnel.ID) ?? []} />
      ))}
    </main>
  )
}

function addRates(
  previous: StatusSnapshot | undefined,
  tunnels: readonly TunnelView[],
): ReadonlyMap<string, readonly number[]> {
  const rates = new Map<string, readonly number[]>()
  const seconds = previous ? (performance.now() - previous.time) / 1000 : 0
  for (const { ID, metrics } of tunnels) {
    const previousTunnel = previous?.tunnels.find((tunnel) => tunnel.ID === ID)
    if (!previousTunnel || seconds <= 0) continue
    // A tunnel without inspection counts only connections.
    const [currentCount, previousCount] = [metrics, previousTunnel.metrics].map(({ conns, http }) =>
      Math.max(conns.count, http.count),
    )
    const rate = Math.max(0, currentCount! - previousCount!) / seconds
    rates.set(ID, [...(previous?.rates.get(ID) ?? []), rate].slice(-MAX_SAMPLES))
  }
  return rates
}

function describeLeg({ address, region, latency, streams }: AgentStatus['session']['legs'][number]): string {
  const open = streams === 0 ? '' : `${streams} ${streams === 1 ? 'stream' : 'streams'}`
  const details = [region, latency, open].filter((detail) => detail !== '').join(', ')
  return details === '' ? address : `${address} (${details})`
}

function Facts({ status }: { status: AgentStatus }) {
  const facts: [string, string][] = [
    ['Status', status.status],
    ['Account', status.session.account || '–'],
    ['Session', status.session.id || '–'],
    ...status.session.legs.map((leg, index, { length }): [string, string] => [
      length === 1 ? 'Server' : `Connection ${index + 1}`,
      describeLeg(leg),
    ]),
    ['Version', status.agent_version],
    ['Capture memory', status.inspect_db_size > 0 ? `up to ${formatBytes(status.inspect_db_size)}` : 'off'],
  ]
  if (status.update_available !== undefined) facts.push(['Update', `${status.update_available} is available`])
  return (
    <dl className="facts-list">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function TunnelCard({ tunnel, rates }: { tunnel: TunnelView; rates: readonly number[] }) {
  const { name, public_url, config, metrics } = tunnel
  return (
    <section className="card" aria-label={`Tunnel ${name}`}>
      <div className="card-head">
        <h3>{name || 'unnamed'}</h3>
        <p>
          {/^https?:/.test(public_url) ? (
            <a href={public_url} target="_blank" rel="noreferrer">
              {public_url}
            </a>
          ) : (
            public_url || 'labelled'
          )}
          {' → '}
          {config.addr}
          {config.inspect ? '' : ' · not inspected'}
        </p>
        <Plot
          values={rates}
          label={`Requests per second of ${name || 'the tunnel'} in the last two minutes`}
        />
      </div>
      <ScrollRegion label={`Metrics of ${name || 'the tunnel'}`}>
        <table className="metrics">
          <thead>
            <tr>
              <td />
              {['Total', 'Open', '/s, 1 min', '/s, 5 min', '/s, 15 min', 'p50', 'p90', 'p95', 'p99'].map(
                (title) => (
                  <th scope="col" key={title}>
                    {title}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            <TimingRow name="Connections" timing={metrics.conns} />
            <TimingRow name="Requests" timing={metrics.http} />
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  )
}

type Timing = TunnelMetrics['http'] & Partial<TunnelMetrics['conns']>

function TimingRow({ name, timing }: { name: string; timing: Timing }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{timing.count}</td>
      <td>{timing.gauge ?? ''}</td>
      {[timing.rate1, timing.rate5, timing.rate15].map((rate, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: three fixed columns.
        <td key={index}>{rate.toFixed(2)}</td>
      ))}
      {[timing.p50, timing.p90, timing.p95, timing.p99].map((nanoseconds, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: four fixed columns.
        <td key={index}>{timing.count === 0 ? '–' : formatDuration(nanoseconds)}</td>
      ))}
    </tr>
  )
}
