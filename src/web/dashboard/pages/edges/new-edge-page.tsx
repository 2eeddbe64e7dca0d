import { useState } from 'react'
import { api } from '../../api.ts'
import type { ApiCall } from '../../equivalent.ts'
import { Card, Form, notify, Page, Switch } from '../../kit/index.ts'
import type { PageProps } from '../../page-contracts.ts'
import { go } from '../../route.ts'
import type { Edge, EdgeKind } from '../resources.ts'
import { EdgeFields } from './edge-form.tsx'
import { EDGE_KINDS } from './edges.ts'
import '../domains/domains.css'
import './edges.css'

const KIND_TEXTS: Readonly<Record<EdgeKind, { title: string; hint: string }>> = {
  https: {
    title: 'Web (HTTPS)',
    hint: 'Websites and APIs, with routing by path, sign-in, headers and all other modules.',
  },
  tls: { title: 'TLS', hint: 'Any protocol over TLS, routed by server name (SNI).' },
  tcp: { title: 'TCP', hint: 'Any protocol, on a dedicated port.' },
}

const FIRST_ROUTE = { match_type: 'path_prefix', match: '/' }

/** Creates an edge; an HTTPS edge gets its first route with it. */
export default function NewEdgePage({ query }: PageProps) {
  const host = query.get('host')
  const [kind, setKind] = useState<EdgeKind>('https')
  const [description, setDescription] = useState('')
  const [hostports, setHostports] = useState<readonly string[]>(host ? [`${host}:443`] : [])
  const [withRoute, setWithRoute] = useState(true)
  const path = `/edges/${kind}`
  const body = { ...(description !== '' && { description }), ...(hostports.length > 0 && { hostports }) }
  const calls: ApiCall[] = [{ method: 'POST', path, body }]
  if (kind === 'https' && withRoute)
    calls.push({ method: 'POST', path: `${path}/EDGE_ID/routes`, body: FIRST_ROUTE })

  const save = async () => {
    const { id } = await api.post<Edge>(path, body)
    if (kind === 'https' && withRoute) await api.post(`${path}/${id}/routes`, FIRST_ROUTE)
    notify('Edge created. Now choose a backend.')
    go(`/edges/${id}`, { replace: true })
  }
  return (
    <Page
      title="New edge"
      lead="An edge is a persistent public endpoint, with the modules that process its traffic and the backends that serve it."
      back={{ path: '/edges', title: 'Edges' }}
    >
      <Card>
        <Form save={save} verb="Create edge" onCancel={() => go('/edges')} calls={calls}>
          {(error) => (
            <>
              <fieldset className="choices">
                <legend>What does it serve?</legend>
                {EDGE_KINDS.map((each) => (
                  <label key={each} className="choice">
                    <input
                      type="radio"
                      name="kind"
                      checked={kind === each}
                      onChange={() => {
                        setKind(each)
                        if ((each === 'tcp') !== (kind === 'tcp')) setHostports([])
                      }}
                    />
                    <span>
                      <b>{KIND_TEXTS[each].title}</b>
                      <small>{KIND_TEXTS[each].hint}</small>
                    </span>
                  </label>
                ))}
              </fieldset>
              <EdgeFields
                kind={kind}
                edgeId={undefined}
                description={description}
                onDescription={setDescription}
                hostports={hostports}
                onHostports={setHostports}
                error={error}
              />
              {kind === 'https' && (
                <Switch
                  label="Start with a route for every path"
                  hint="You can add more routes for paths that need different modules or backends."
                  checked={withRoute}
                  onChecked={setWithRoute}
                />
              )}
            </>
          )}
        </Form>
      </Card>
    </Page>
  )
}
