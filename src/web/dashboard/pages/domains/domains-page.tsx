import { useState } from 'react'
import {
  Badge,
  ButtonLink,
  type Column,
  Empty,
  Failed,
  Loading,
  Page,
  Search,
  Table,
  Time,
} from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { useMayChange } from '../../session.ts'
import { edgesAt, type ListedEdge, listEdges } from '../edges/edges.ts'
import { listAll, useLoaded } from '../list-all.ts'
import { useLive, versionOf } from '../live.ts'
import { type Platform, usePlatform } from '../platform.ts'
import type { Domain } from '../resources.ts'
import { certificateWords } from './certificate-labels.ts'
import '../pages.css'

/** Names that stay the account's own. */
export default function DomainsPage() {
  const mayChange = useMayChange()
  const platform = usePlatform()
  const now = useLive().samples.at(-1)
  const [wanted, setWanted] = useState('')
  const { value, error, loading, reload } = useLoaded(
    async (signal) => {
      const [domains, edges] = await Promise.all([
        listAll<Domain>('/reserved_domains', 'reserved_domains', signal),
        listEdges(signal),
      ])
      return { domains, edges }
    },
    { everyMs: 10_000, key: versionOf(now) },
  )
  const create = mayChange && (
    <ButtonLink to="/domains/new" kind="main" shortcut="n">
      New domain
    </ButtonLink>
  )
  const rows = value?.domains.filter(({ domain, description }) =>
    `${domain} ${description}`.toLowerCase().includes(wanted.toLowerCase()),
  )
  return (
    <Page
      title="Domains"
      lead="Host names that stay yours, each with its certificate. Agents and edges answer under them."
      actions={value && value.domains.length > 0 && create}
    >
      {error && <Failed error={error} retry={reload} />}
      {loading && <Loading />}
      {value?.domains.length === 0 && (
        <Empty title="No domain yet" action={create}>
          Reserve a name below the platform's own domain, which works at once, or bring one of yours.
        </Empty>
      )}
      {rows && value && value.domains.length > 0 && (
        <>
          <div className="tools">
            <Search label="Search domains" value={wanted} onValue={setWanted} />
          </div>
          <Table
            label="Domains"
            columns={columnsFor(value.edges, platform)}
            rows={rows}
            keyOf={({ id }) => id}
          />
          {rows.length === 0 && <p className="quiet">None of them fits.</p>}
        </>
      )}
    </Page>
  )
}

function columnsFor(edges: readonly ListedEdge[], platform: Platform | undefined): readonly Column<Domain>[] {
  return [
    { title: 'Domain', of: ({ id, domain }) => <a href={hrefTo(`/domains/${id}`)}>{domain}</a> },
    { title: 'Description', of: ({ description }) => description },
    {
      title: 'Certificate',
      of: (domain) => {
        const { tone, short } = certificateWords(domain, platform)
        return <Badge tone={tone}>{short}</Badge>
      },
    },
    { title: 'Answered by', of: ({ domain }) => <EdgeLinks edges={edgesAt(edges, domain)} /> },
    { title: 'Created', kind: 'fit', of: ({ created_at }) => <Time at={created_at} /> },
  ]
}

function EdgeLinks({ edges }: { edges: readonly ListedEdge[] }) {
  if (edges.length === 0) return 'agents'
  return edges.map(({ id, description }) => (
    <a key={id} href={hrefTo(`/edges/${id}`)}>
      {description || 'an edge'}
    </a>
  ))
}
