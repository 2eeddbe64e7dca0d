import { Fragment } from 'react'
import type { Endpoint, ReservedDomain } from '../../../../api-client/index.ts'
import { Badge, ButtonLink, type Column, EmptyState, Page, Time } from '../../kit/index.ts'
import { filtered, listAll } from '../../lists.ts'
import { ListBody, useSearchedList } from '../../resource/searched-list.tsx'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { type EdgeListing, edgesServing, listEdgesOf } from '../edges/edges.ts'
import { useLive, versionOf } from '../live.ts'
import { type PlatformInfo, usePlatform } from '../platform.ts'
import { useLoad } from '../use-load.ts'
import { describeCertificate } from './certificate-labels.ts'

/** The list of reserved domains. */
export default function DomainsPage() {
  const mayChange = useCanChange()
  const platform = usePlatform()
  const latest = useLive().samples.at(-1)
  const version = versionOf(latest)
  const list = useSearchedList('/reserved_domains', 'reserved_domains', {
    version,
    everyMs: 10_000,
  })
  const hosts = list.items.map(({ domain }) => domain)
  const edges = useLoad((signal) => listEdgesOf(hosts, signal), {
    key: `${version} ${hosts.join(' ')}`,
    skip: hosts.length === 0,
  })
  const endpoints = useLoad(
    (signal) => listAll(filtered('/endpoints', atDomains(list.items)), 'endpoints', signal),
    { key: `${version} ${hosts.join(' ')}`, skip: hosts.length === 0 },
  )
  const create = mayChange && (
    <ButtonLink to="/domains/new" kind="main" shortcut="n">
      New domain
    </ButtonLink>
  )
  return (
    <Page
      title="Domains"
      lead="Reserved host names with their certificates. Agents and edges serve them."
      actions={!list.empty && create}
    >
      <ListBody
        list={list}
        title="Domains"
        columns={columnsFor({ edges: edges.value, endpoints: endpoints.value }, platform)}
        empty={
          <EmptyState title="No domains yet" action={create}>
            Reserve a subdomain of the platform, which works immediately, or use your own domain.
          </EmptyState>
        }
      />
    </Page>
  )
}

/** What serves the domains of the list; undefined until it is known. */
interface Served {
  readonly edges: readonly EdgeListing[] | undefined
  readonly endpoints: readonly Endpoint[] | undefined
}

const atDomains = (domains: readonly ReservedDomain[]) =>
  `obj.domain != null && obj.domain.id in ${JSON.stringify(domains.map(({ id }) => id))}`

function columnsFor(
  { edges, endpoints }: Served,
  platform: PlatformInfo | undefined,
): readonly Column<ReservedDomain>[] {
  return [
    { title: 'Domain', render: ({ id, domain }) => <a href={hrefTo(`/domains/${id}`)}>{domain}</a> },
    { title: 'Description', render: ({ description }) => description },
    {
      title: 'Certificate',
      render: (domain) => {
        const { tone, short } = describeCertificate(domain, platform)
        return <Badge tone={tone}>{short}</Badge>
      },
    },
    {
      title: 'Served by',
      render: ({ id, domain }) =>
        edges &&
        endpoints && (
          <Servers
            edges={edgesServing(edges, domain)}
            endpoints={endpoints.filter(({ domain, edge }) => domain?.id === id && edge === null)}
          />
        ),
    },
    { title: 'Created', kind: 'fit', render: ({ created_at }) => <Time value={created_at} /> },
  ]
}

function Servers({ edges, endpoints }: { edges: readonly EdgeListing[]; endpoints: readonly Endpoint[] }) {
  const cloud = endpoints.filter(({ type }) => type === 'cloud')
  const agentCount = endpoints.length - cloud.length
  const links = [
    ...edges.map(({ id, description }) => ({ to: `/edges/${id}`, name: description || 'edge' })),
    ...cloud.map(({ id, description }) => ({
      to: `/endpoints/${id}`,
      name: description || 'cloud endpoint',
    })),
  ]
  if (links.length === 0 && agentCount === 0) return <span className="quiet">nothing online</span>
  return (
    <>
      {links.map(({ to, name }, index) => (
        <Fragment key={to}>
          {index > 0 && ', '}
          <a href={hrefTo(to)}>{name}</a>
        </Fragment>
      ))}
      {links.length > 0 && agentCount > 0 && ', '}
      {agentCount > 0 && (agentCount === 1 ? 'an agent' : `${agentCount} agents`)}
    </>
  )
}
