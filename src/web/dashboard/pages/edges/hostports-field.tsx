import { useState } from 'react'
import { api, sentenceOf } from '../../api.ts'
import { Button, Equivalent, Loading, Notice, say } from '../../kit/index.ts'
import { listAll, useLoaded } from '../list-all.ts'
import { usePlatform } from '../platform.ts'
import type { Address, Domain, EdgeKind } from '../resources.ts'
import '../../form/form.css'
import { edgesAt, hostOf, type ListedEdge, listEdges } from './edges.ts'

interface Offer {
  readonly hostport: string
  readonly description: string
  /** The edge that serves it now. */
  readonly takenBy: ListedEdge | undefined
}

/** Chooses the names or addresses of an edge among those that are reserved; new ones can be reserved on the spot. */
export function HostportsField({
  kind,
  edgeId,
  value,
  onValue,
  error,
}: {
  kind: EdgeKind
  /** The edge itself, whose names are not taken by somebody else. */
  edgeId: string | undefined
  value: readonly string[]
  onValue: (value: string[]) => void
  error: string | undefined
}) {
  const offers = useOffers(kind, edgeId)
  const toggle = (hostport: string) =>
    onValue(value.includes(hostport) ? value.filter((each) => each !== hostport) : [...value, hostport])
  const others = value.filter((hostport) => !offers.value?.some((offer) => offer.hostport === hostport))
  const what = kind === 'tcp' ? 'addresses' : 'names'
  return (
    <fieldset className={error ? 'group wrong' : 'group'}>
      <legend>At which {what} does it answer?</legend>
      {error && <p className="field-error">{error}</p>}
      {offers.error && <Notice kind="bad">{offers.error.message}</Notice>}
      {offers.loading && <Loading />}
      {offers.value?.length === 0 && <p className="field-hint">You have reserved none yet.</p>}
      <ul className="offers">
        {offers.value?.map(({ hostport, description, takenBy }) => (
          <li key={hostport}>
            <label>
              <input
                type="checkbox"
                checked={value.includes(hostport)}
                disabled={takenBy !== undefined}
                onChange={() => toggle(hostport)}
              />
              <span>
                <b>{kind === 'tcp' ? hostport : hostOf(hostport)}</b>
                <small>{takenBy ? `serves ${takenBy.description || takenBy.id} already` : description}</small>
              </span>
            </label>
          </li>
        ))}
        {others.map((hostport) => (
          <li key={hostport}>
            <label>
              <input type="checkbox" checked onChange={() => toggle(hostport)} />
              <span>
                <b>{hostport}</b>
              </span>
            </label>
          </li>
        ))}
      </ul>
      <Reserve
        kind={kind}
        onReserved={(hostport) => {
          onValue([...value, hostport])
          offers.reload()
        }}
      />
    </fieldset>
  )
}

function useOffers(kind: EdgeKind, edgeId: string | undefined) {
  return useLoaded<Offer[]>(async (signal) => {
    const [edges, names] = await Promise.all([
      listEdges(signal),
      kind === 'tcp'
        ? listAll<Address>('/reserved_addrs', 'reserved_addrs', signal)
        : listAll<Domain>('/reserved_domains', 'reserved_domains', signal),
    ])
    const others = edges.filter(({ id }) => id !== edgeId)
    const offers = names.map((name) => {
      const hostport = 'domain' in name ? `${name.domain}:443` : name.addr
      const takenBy =
        'domain' in name
          ? edgesAt(others, name.domain)[0]
          : others.find(({ hostports }) => hostports.includes(hostport))
      return { hostport, description: name.description, takenBy }
    })
    // Those that can be chosen first.
    return offers.sort(
      (one, other) => Number(one.takenBy !== undefined) - Number(other.takenBy !== undefined),
    )
  })
}

/** Reserves one more name or address without leaving the form. */
function Reserve({ kind, onReserved }: { kind: EdgeKind; onReserved: (hostport: string) => void }) {
  const platform = usePlatform()
  const [name, setName] = useState('')
  const [refusal, setRefusal] = useState<string>()
  const [busy, setBusy] = useState(false)
  const typed = name.trim().toLowerCase()
  const domain = typed === '' || typed.includes('.') ? typed : `${typed}.${platform?.domain}`
  const reserve = async () => {
    setBusy(true)
    setRefusal(undefined)
    try {
      if (kind === 'tcp') {
        const { addr } = await api.post<Address>('/reserved_addrs', {})
        say(`${addr} is yours.`)
        onReserved(addr)
      } else {
        await api.post<Domain>('/reserved_domains', { domain })
        say(`${domain} is yours.`)
        setName('')
        onReserved(`${domain}:443`)
      }
    } catch (error) {
      setRefusal(sentenceOf(error))
    }
    setBusy(false)
  }
  if (kind === 'tcp')
    return (
      <>
        <div>
          <Button busy={busy} onClick={() => void reserve()}>
            Reserve a new address
          </Button>
        </div>
        {refusal && <p className="field-error">{refusal}</p>}
        <Equivalent method="POST" path="/reserved_addrs" body={{}} />
      </>
    )
  return (
    <>
      <div className="reserve">
        <input
          aria-label="New name"
          placeholder={`a new name, such as shop or shop.example.com`}
          value={name}
          onChange={(event) => setName(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || name.trim() === '') return
            event.preventDefault()
            void reserve()
          }}
        />
        <Button busy={busy} disabled={name.trim() === ''} onClick={() => void reserve()}>
          Reserve
        </Button>
      </div>
      {refusal && <p className="field-error">{refusal}</p>}
      {domain !== '' && <Equivalent method="POST" path="/reserved_domains" body={{ domain }} />}
    </>
  )
}
