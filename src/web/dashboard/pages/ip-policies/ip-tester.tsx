import { type FormEvent, useState } from 'react'
import { ApiError, api, sentenceOf } from '../../api.ts'
import { Badge, Button, Card, TextField } from '../../kit/index.ts'
import type { ExtraProps } from '../../resources.ts'
import './ip-tester.css'

interface Verdict {
  readonly allowed: boolean
  readonly because: string
}

interface Checked extends Verdict {
  readonly address: string
  readonly restrictions: readonly (Verdict & { id: string; type: string; enforced: boolean })[]
}

/** Asks whether an address would pass this policy, and what the account's own restrictions say of it. */
export default function IpTester({ item }: ExtraProps) {
  const [address, setAddress] = useState('')
  const [checked, setChecked] = useState<Checked>()
  const [refusal, setRefusal] = useState<string>()
  const [busy, setBusy] = useState(false)
  const check = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setRefusal(undefined)
    try {
      const query = new URLSearchParams({ policies: item.id, address: address.trim() })
      setChecked(await api.get<Checked>(`/dashboard/api/ip_policies/check?${query}`))
    } catch (error) {
      setChecked(undefined)
      setRefusal(error instanceof ApiError ? error.message.replace(/^address: /, '') : sentenceOf(error))
    }
    setBusy(false)
  }
  return (
    <Card title="Would this address pass?">
      <form className="ip-tester" noValidate onSubmit={(event) => void check(event)}>
        <TextField
          label="Address of a visitor"
          required
          placeholder="203.0.113.7"
          value={address}
          onValue={setAddress}
          error={refusal}
        />
        <Button type="submit" busy={busy}>
          Try it
        </Button>
      </form>
      <div role="status" className="ip-verdict">
        {checked && (
          <>
            <p>
              <Badge tone={checked.allowed ? 'good' : 'bad'}>
                {checked.allowed ? 'would pass' : 'kept out'}
              </Badge>{' '}
              <code>{checked.address}</code>
            </p>
            <p>{checked.because}</p>
            {checked.restrictions.length > 0 && <Restrictions restrictions={checked.restrictions} />}
          </>
        )}
      </div>
    </Card>
  )
}

const GUARDED: Readonly<Record<string, string>> = {
  dashboard: 'sign in to the dashboard',
  api: 'call the API',
  agent: 'connect an agent',
  endpoints: 'visit any endpoint or edge',
}

function Restrictions({ restrictions }: { restrictions: Checked['restrictions'] }) {
  return (
    <>
      <h3>Restrictions of the whole account</h3>
      <ul>
        {restrictions.map(({ id, type, enforced, allowed, because }) => (
          <li key={id}>
            It {allowed ? 'may' : enforced ? 'may not' : 'could not, once this is enforced,'}{' '}
            {GUARDED[type] ?? type}. {because}
          </li>
        ))}
      </ul>
    </>
  )
}
