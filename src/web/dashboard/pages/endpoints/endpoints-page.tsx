import { useState } from 'react'
import type { Endpoint } from '../../../../api-client/index.ts'
import {
  Badge,
  BreakableText,
  Button,
  ButtonLink,
  type Column,
  CopyButton,
  EmptyState,
  Page,
  Time,
} from '../../kit/index.ts'
import { ListBody, useSearchedList } from '../../resource/searched-list.tsx'
import { useCanChange } from '../../session.ts'
import { CommandLine } from '../command-line.tsx'
import { FailedSignIns } from '../failed-sign-ins.tsx'
import { useLive, versionOf } from '../live.ts'
import { EndpointServer } from './endpoint-server.tsx'
import '../pages.css'

/** The kinds of endpoints, and the filter of the API for each. */
const KINDS = {
  All: undefined,
  Agents: "obj.edge == null && obj.type != 'cloud'",
  Edges: 'obj.edge != null',
  Cloud: "obj.edge == null && obj.type == 'cloud'",
} as const
type Kind = keyof typeof KINDS

/** The list of all online endpoints: of agents and edges, and cloud endpoints. */
export default function EndpointsPage() {
  const latest = useLive().samples.at(-1)
  const [kind, setKind] = useState<Kind>('All')
  const mayChange = useCanChange()
  const list = useSearchedList('/endpoints', 'endpoints', {
    filter: KINDS[kind],
    version: versionOf(latest),
  })
  return (
    <Page
      title="Endpoints"
      lead="Public addresses that are online now. Agent endpoints come and go with their agent; those of edges and cloud endpoints are persistent."
      actions={
        mayChange && (
          <>
            <ButtonLink to="/edges/new">New edge</ButtonLink>
            <ButtonLink to="/endpoints/new" kind="main" shortcut="n">
              New cloud endpoint
            </ButtonLink>
          </>
        )
      }
    >
      <ListBody
        list={list}
        title="Endpoints"
        columns={COLUMNS}
        filters={(Object.keys(KINDS) as Kind[]).map((each) => (
          <button type="button" key={each} aria-pressed={kind === each} onClick={() => setKind(each)}>
            {each}
          </button>
        ))}
        empty={
          kind === 'All' ? (
            <EmptyState title="No endpoints yet">
              <p>An agent creates an endpoint when it starts:</p>
              <CommandLine text="adit http 3000" />
            </EmptyState>
          ) : (
            <EmptyState title="No matches" action={<Button onClick={() => setKind('All')}>Show all</Button>}>
              No endpoint of this kind is online.
            </EmptyState>
          )
        }
      />
      <FailedSignIns isShown={() => true} />
    </Page>
  )
}

const COLUMNS: readonly Column<Endpoint>[] = [
  {
    title: 'Address',
    render: ({ public_url }) =>
      /^https?:/.test(public_url) ? (
        <a href={public_url} target="_blank" rel="noreferrer">
          <BreakableText text={public_url} />
        </a>
      ) : (
        <b>
          <BreakableText text={public_url} />
        </b>
      ),
  },
  {
    title: 'Served by',
    render: (endpoint) => <EndpointServer endpoint={endpoint} />,
  },
  { title: 'Protocol', kind: 'fit', render: ({ proto }) => <Badge tone="info">{proto.toUpperCase()}</Badge> },
  { title: 'Since', kind: 'fit', render: ({ created_at }) => <Time value={created_at} /> },
  { title: '', kind: 'fit', render: ({ public_url }) => <CopyButton text={public_url} /> },
]
