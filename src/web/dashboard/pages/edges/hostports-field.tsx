import { useState } from 'react'
import type { ReservedAddress, ReservedDomain } from '../../../../api-client/index.ts'
import { api, errorMessage } from '../../api.ts'
import { Button, Equivalent, Loading, Notice, notify, Search } from '../../kit/index.ts'
import { useSearchedList } from '../../resource/searched-list.tsx'
import { usePlatform } from '../platform.ts'
import type { EdgeKind } from '../resources.ts'
import { useLoad } from '../use-load.ts'
import '../../form/form.css'
import { type EdgeListing, edgesServing, hostOf, listEdgesOf } from './edges.ts'

interface HostportOption {
  readonly hostport: string
  readonly description: string
  /** The edge that already serves it. */
  readonly usedBy: EdgeListing | undefined
  /** Whether the edges that serve it are still being read. */
  readonly loading: boolean
}

/** Selects the host names or addresses of an edge among the reserved ones, and reserves new ones in place. */
export function HostportsField({
  kind,
  edgeId,
  value,
  onValue,
  error,
}: {
  kind: EdgeKind
  /** The edge being edited; its own names stay selectable. */
  edgeId: string | undefined
  value: readonly string[]
  onValue: (value: string[]) => void
  error: string | undefined
}) {
  const { list, options } = useHostportOptions(kind, edgeId)
  const toggle = (hostport: string) =>
    onValue(value.includes(hostport) ? value.filter((each) => each !== hostport) : [...value, hostport])
  const others = value.filter((hostport) => !options.some((option) => option.hostport === hostport))
  const noun = kind === 'tcp' ? 'addresses' : 'host names'
  return (
    <fieldset className={error ? 'group wrong' : 'group'}>
      <legend>Which {noun} does it serve?</legend>
      {error && <p className="field-error">{error}</p>}
      {list.error && <Notice kind="bad">{list.error.message}</Notice>}
      {list.loading && <Loading />}
      {list.empty && !list.loading && !list.error && <p className="field-hint">None reserved yet.</p>}
      {(list.more || list.search !== '') && (
        <Search label={`Search ${noun}`} value={list.search} onValue={list.setSearch} />
      )}
      {list.searched && options.length === 0 && <p className="field-hint">No matches.</p>}
      <ul className="hostport-options">
        {options.map(({ hostport, description, usedBy, loading }) => (
          <li key={hostport}>
            <label>
              <input
                type="checkbox"
                checked={value.includes(hostport)}
                disabled={usedBy !== undefined || loading}
                onChange={() => toggle(hostport)}
              />
              <span>
                <b>{kind === 'tcp' ? hostport : hostOf(hostport)}</b>
                <small>{usedBy ? `already used by ${usedBy.description || usedBy.id}` : description}</small>
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
      {list.more && (
        <div>
          <Button onClick={list.loadMore}>Show older</Button>
        </div>
      )}
      <ReserveHostport
        kind={kind}
        onReserved={(hostport) => {
          onValue([...value, hostport])
          list.reload()
        }}
      />
    </fieldset>
  )
}

/** The reserved names or addresses that match a search, a page at a time, and which edges serve them. */
function useHostportOptions(kind: EdgeKind, edgeId: string | undefined) {
  const list = useSearchedList(
    kind === 'tcp' ? '/reserved_addrs' : '/reserved_domains',
    kind === 'tcp' ? 'reserved_addrs' : 'reserved_domains',
  )
  const hosts = list.items.map(nameOf)
  const loaded = useLoad(
    async (signal) => ({ hosts: new Set(hosts), edges: await listEdgesOf(hosts, signal) }),
    { key: hosts.join(), skip: hosts.length === 0 },
  )
  const others = loaded.value?.edges.filter(({ id }) => id !== edgeId) ?? []
  const options = list.items.map((name): HostportOption => {
    const hostport = 'domain' in name ? `${name.domain}:443` : name.addr
    const usedBy =
      'domain' in name
        ? edgesServing(others, name.domain)[0]
        : others.find(({ hostports }) => hostports.includes(hostport))
    const loading = !loaded.value?.hosts.has(nameOf(name)) && loaded.error === undefined
    return { hostport, description: name.description, usedBy, loading }
  })
  // Selectable options first.
  options.sort((one, other) => Number(one.usedBy !== undefined) - Number(other.usedBy !== undefined))
  return { list, options }
}

function nameOf(name: ReservedAddress | ReservedDomain): string {
  return 'domain' in name ? name.domain : name.addr
}

/** Reserves a host name or address without leaving the form. */
function ReserveHostport({ kind, onReserved }: { kind: EdgeKind; onReserved: (hostport: string) => void }) {
  const platform = usePlatform()
  const [name, setName] = useState('')
  const [errorText, setErrorText] = useState<string>()
  const [busy, setBusy] = useState(false)
  const input = name.trim().toLowerCase()
  const isComplete = input.includes('.')
  const domain = input === '' || isComplete ? input : `${input}.${platform?.domain}`
  // The domain of the platform loads after the form, and completes a short name.
  const canReserve = input !== '' && (isComplete || platform !== undefined)
  const reserve = async () => {
    setBusy(true)
    setErrorText(undefined)
    try {
      if (kind === 'tcp') {
        const { addr } = await api.post<ReservedAddress>('/reserved_addrs', {})
        notify(`Reserved ${addr}.`)
        onReserved(addr)
      } else {
        await api.post<ReservedDomain>('/reserved_domains', { domain })
        notify(`Reserved ${domain}.`)
        setName('')
        onReserved(`${domain}:443`)
      }
    } catch (error) {
      setErrorText(errorMessage(error))
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
        {errorText && <p className="field-error">{errorText}</p>}
        <Equivalent method="POST" path="/reserved_addrs" body={{}} />
      </>
    )
  return (
    <>
      <div className="reserve">
        <input
          aria-label="New name"
          placeholder="shop or shop.example.com"
          value={name}
          onChange={(event) => setName(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || input === '') return
            event.preventDefault()
            if (canReserve) void reserve()
          }}
        />
        <Button busy={busy} disabled={!canReserve} onClick={() => void reserve()}>
          Reserve
        </Button>
      </div>
      {errorText && <p className="field-error">{errorText}</p>}
      {canReserve && <Equivalent method="POST" path="/reserved_domains" body={{ domain }} />}
    </>
  )
}
