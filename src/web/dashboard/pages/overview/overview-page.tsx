import type { AgentIngress, Endpoint, ReservedDomain } from '../../../../api-client/index.ts'
import { Badge, Card, LoadError, type LoadState, Notice, Page, Time, useApi } from '../../kit/index.ts'
import { filtered, type ItemOf, listAll } from '../../lists.ts'
import { type PagedList, useList } from '../../resource/use-list.ts'
import { IdLink } from '../../resource/value-view.tsx'
import { hrefTo } from '../../route.ts'
import { useSession } from '../../session.ts'
import { describeCertificate } from '../domains/certificate-labels.ts'
import { type Live, ratesOf, type Sample, useLive, versionOf } from '../live.ts'
import { type PlatformInfo, useLoadedPlatform } from '../platform.ts'
import { useLoad } from '../use-load.ts'
import { describeAction } from './audit-labels.ts'
import { Countries, useVisitorCountries } from './countries.tsx'
import { FirstSteps } from './first-steps.tsx'
import { Tile } from './tiles.tsx'
import { perSecond, TrafficPlots } from './traffic-plots.tsx'
import './overview.css'
import '../pages.css'

const STATE_BADGES = {
  connecting: <Badge>Connecting</Badge>,
  live: <Badge tone="good">Live</Badge>,
  lost: <Badge tone="bad">Disconnected, retrying</Badge>,
}

/** Live traffic of the account, and what needs attention. */
export default function OverviewPage() {
  const live = useLive()
  const latest = live.samples.at(-1)
  const endpoints = useList('/endpoints', 'endpoints', { version: versionOf(latest) })
  const platform = useLoadedPlatform()
  const attention = useAttention(platform.value)
  const countries = useVisitorCountries()
  const changes = useRecentChanges()
  // Everything is known first, so that nothing moves while the page loads.
  const isKnown =
    (latest !== undefined || live.state !== 'connecting') &&
    [endpoints, platform, attention, countries, changes].every(({ loading }) => !loading)
  const idle = endpoints.items.length === 0 && latest?.sessions === 0
  return (
    <Page title="Overview" actions={STATE_BADGES[live.state]}>
      <Tiles latest={latest} live={live} endpoints={endpoints.loading ? undefined : countOf(endpoints)} />
      {isKnown && (
        <>
          {idle && <FirstSteps platform={platform.value} />}
          <Attention problems={attention.problems} />
          <EdgelessNotice platform={platform.value} />
          <TrafficPlots samples={live.samples} />
          <Countries countries={countries.value?.countries ?? []} />
          <div className="two-columns">
            <Endpoints endpoints={endpoints} />
            <RecentChanges changes={changes} />
          </div>
        </>
      )}
    </Page>
  )
}

/** `50+` while there are more than were read. */
const countOf = ({ items, more }: PagedList<unknown>) => `${items.length}${more ? '+' : ''}`

function Tiles({
  latest,
  live,
  endpoints,
}: {
  latest: Sample | undefined
  live: Live
  endpoints: string | undefined
}) {
  const requests = ratesOf(live.samples, (sample) => sample.requests)
  const connections = ratesOf(live.samples, (sample) => sample.connections)
  const open = (latest?.open_requests ?? 0) + (latest?.open_connections ?? 0)
  return (
    <div className="tiles">
      <Tile name="Requests" value={perSecond(average(requests))}>
        {latest === undefined ? 'waiting for data' : `${count(latest.requests)} since the server started`}
      </Tile>
      <Tile name="In flight" value={open}>
        {latest?.open_connections ?? 0} raw connections, {perSecond(average(connections))} new
      </Tile>
      <Tile name="Agents online" value={latest?.sessions ?? '–'} to="/agents">
        {latest?.tunnels === 1 ? '1 tunnel' : `${latest?.tunnels ?? 0} tunnels`}
      </Tile>
      <Tile name="Endpoints" value={endpoints ?? '–'} to="/endpoints">
        public addresses online
      </Tile>
    </div>
  )
}

/** The average of the last five samples; single samples fluctuate too much to be read. */
function average(values: readonly number[]): number {
  const last = values.slice(-5)
  return last.length === 0 ? 0 : last.reduce((sum, value) => sum + value, 0) / last.length
}

const count = (value: number) => value.toLocaleString('en')

/** Names of the platform are served with its own certificate, and others may have one attached. */
const MAY_NEED_ATTENTION =
  'obj.certificate_management_policy != null || (obj.certificate == null && obj.cname_target != null)'

interface CertificateProblem {
  readonly domain: AgentIngress | ReservedDomain
  readonly to: string
  readonly text: ReturnType<typeof describeCertificate>
}

/** The certificates that need action. */
function useAttention(platform: PlatformInfo | undefined): {
  loading: boolean
  problems: readonly CertificateProblem[]
} {
  const { value, error } = useLoad(
    async (signal) => {
      const [domains, ingresses] = await Promise.all([
        listAll(
          `/reserved_domains?filter=${encodeURIComponent(MAY_NEED_ATTENTION)}`,
          'reserved_domains',
          signal,
        ),
        listAll('/agent_ingresses', 'ingresses', signal),
      ])
      return [
        ...domains.map((domain) => ({ domain, to: `/domains/${domain.id}` })),
        // Without a policy the private authority issues the certificate, which agents trust.
        ...ingresses
          .filter(({ certificate_management_policy }) => certificate_management_policy !== null)
          .map((domain) => ({ domain, to: `/agent-ingresses/${domain.id}` })),
      ]
    },
    { everyMs: 15_000 },
  )
  const problems = value
    ?.map(({ domain, to }) => ({ domain, to, text: describeCertificate(domain, platform) }))
    .filter(({ text }) => text.attention)
  return { loading: value === undefined && error === undefined, problems: problems ?? [] }
}

function Attention({ problems }: { problems: readonly CertificateProblem[] }) {
  if (problems.length === 0) return null
  return (
    <Card title="Needs attention">
      <ul className="plain-list">
        {problems.map(({ domain: { id, domain }, to, text }) => (
          <li key={id}>
            <p>
              <a href={hrefTo(to)}>{domain}</a> <Badge tone={text.tone}>{text.short}</Badge>
            </p>
            <p className="quiet">{text.text}</p>
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** A node without an edge serves no visitors, so its plots stay empty. */
function EdgelessNotice({ platform }: { platform: PlatformInfo | undefined }) {
  if (!platform || platform.http_url !== null || platform.https_url !== null) return null
  return (
    <Notice>
      Other nodes of this platform serve the visitors. Each node counts only its own traffic, so these charts
      stay empty.
    </Notice>
  )
}

const MAX_ENDPOINTS = 6

function Endpoints({ endpoints }: { endpoints: PagedList<Endpoint> }) {
  const { items, loading, error } = endpoints
  return (
    <Card title="Endpoints" actions={<a href={hrefTo('/endpoints')}>All endpoints</a>}>
      {error && items.length === 0 && <LoadError error={error} />}
      {!loading && !error && items.length === 0 && (
        <p className="quiet">No agent or edge serves a public address right now.</p>
      )}
      <ul className="plain-list">
        {items.slice(0, MAX_ENDPOINTS).map(({ id, public_url, edge, upstream_url, description }) => (
          <li key={id}>
            <a href={/^https?:/.test(public_url) ? public_url : hrefTo('/endpoints')} rel="noreferrer">
              {public_url}
            </a>
            <p className="quiet">
              {edge === null ? `to ${upstream_url || 'an agent'}` : `the edge ${description}`}
            </p>
          </li>
        ))}
      </ul>
      {items.length > MAX_ENDPOINTS && (
        <p className="quiet">
          and {items.length - MAX_ENDPOINTS}
          {endpoints.more && '+'} more
        </p>
      )}
    </Card>
  )
}

const CHANGES = `${filtered('/audit_events', "!obj.action.matches('(^|[.])(get|list)$')")}&limit=7`

/** For administrators only, who may read the audit log. */
function useRecentChanges(): LoadState<{ audit_events: ItemOf<'audit_events'>[] }> {
  const isAdmin = useSession().session.role === 'admin'
  return useApi(isAdmin ? CHANGES : undefined, { everyMs: 5000 })
}

function RecentChanges({
  changes: { value, error, reload },
}: {
  changes: ReturnType<typeof useRecentChanges>
}) {
  if (useSession().session.role !== 'admin') return null
  return (
    <Card title="Recent changes" actions={<a href={hrefTo('/audit-log')}>Audit log</a>}>
      {error && value === undefined && <LoadError error={error} retry={reload} />}
      {value?.audit_events.length === 0 && <p className="quiet">No changes yet.</p>}
      <ul className="plain-list">
        {value?.audit_events.map(({ id, at, object, ...call }) => (
          <li key={id}>
            {describeAction(call)} {call.outcome !== 'done' && <Badge tone="warn">rejected</Badge>}
            <p className="quiet">
              {object !== null && (
                <>
                  <IdLink id={object} />{' '}
                </>
              )}
              <Time value={at} />
            </p>
          </li>
        ))}
      </ul>
    </Card>
  )
}
