import { Badge, ButtonLink, type Column, EmptyState, Page, Time } from '../../kit/index.ts'
import { ListBody, useSearchedList } from '../../resource/searched-list.tsx'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { type EdgeListing, edgesServing, listEdgesOf } from '../edges/edges.ts'
import { useLoad } from '../list-all.ts'
import { useLive, versionOf } from '../live.ts'
import { type PlatformInfo, usePlatform } from '../platform.ts'
import type { Domain } from '../resources.ts'
import { describeCertificate } from './certificate-labels.ts'

/** The list of reserved domains. */
export default function DomainsPage() {
  const mayChange = useCanChange()
  const platform = usePlatform()
  const latest = useLive().samples.at(-1)
  const version = versionOf(latest)
  const list = useSearchedList<Domain>('/reserved_domains', 'reserved_domains', {
    version,
    everyMs: 10_000,
  })
  const hosts = list.items.map(({ domain }) => domain)
  const edges = useLoad((signal) => listEdgesOf(hosts, signal), {
    key: `${version} ${hosts.join(' ')}`,
    skip: hosts.length === 0,
  })
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
        columns={columnsFor(edges.value ?? [], platform)}
        empty={
          <EmptyState title="No domains yet" action={create}>
            Reserve a subdomain of the platform, which works immediately, or use your own domain.
          </EmptyState>
        }
      />
    </Page>
  )
}

function columnsFor(
  edges: readonly EdgeListing[],
  platform: PlatformInfo | undefined,
): readonly Column<Domain>[] {
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
    { title: 'Served by', render: ({ domain }) => <EdgeLinks edges={edgesServing(edges, domain)} /> },
    { title: 'Created', kind: 'fit', render: ({ created_at }) => <Time value={created_at} /> },
  ]
}

function EdgeLinks({ edges }: { edges: readonly EdgeListing[] }) {
  if (edges.length === 0) return 'agents'
  return edges.map(({ id, description }) => (
    <a key={id} href={hrefTo(`/edges/${id}`)}>
      {description || 'edge'}
    </a>
  ))
}
