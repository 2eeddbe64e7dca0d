import { type FormEvent, useState } from 'react'
import { ApiError, api, sentenceOf } from '../../api.ts'
import { Button, Card, Equivalent, Notice, Page, say, TextField } from '../../kit/index.ts'
import { go } from '../../route.ts'
import { usePlatform } from '../platform.ts'
import type { Domain } from '../resources.ts'
import './domains.css'

type Whose = 'platform' | 'own'

/** Reserves a name: a word in front of the platform's domain, or a domain of one's own. */
export default function NewDomainPage() {
  const platform = usePlatform()
  const [whose, setWhose] = useState<Whose>('platform')
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  const below = platform?.domain ?? '…'
  const typed = name.trim().toLowerCase()
  const domain = whose === 'own' || typed === '' ? typed : `${typed.replace(/\.+$/, '')}.${below}`
  const body = { domain, ...(description !== '' && { description }) }
  const send = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const made = await api.post<Domain>('/reserved_domains', body)
      say(`${made.domain} is yours.`)
      go(`/domains/${made.id}`, { replace: true })
    } catch (caught) {
      setError(caught instanceof ApiError ? caught : new ApiError(0, '', sentenceOf(caught)))
      setBusy(false)
    }
  }
  const own = whose === 'own'
  // A name that somebody has already is a conflict, and no fault of any field.
  const atDomain = error?.field === 'domain' || error?.status === 409
  return (
    <Page title="New domain" back={{ path: '/domains', title: 'Domains' }}>
      <Card>
        <form className="form" noValidate onSubmit={(event) => void send(event)}>
          <fieldset className="ways">
            <legend>Which kind of name?</legend>
            <Way
              label={`A name below ${below}`}
              hint="Works at once, with a certificate of the platform."
              checked={!own}
              onPick={() => setWhose('platform')}
            />
            <Way
              label="A domain of my own"
              hint="You set a DNS record; the certificate then comes by itself."
              checked={own}
              onPick={() => setWhose('own')}
            />
          </fieldset>
          <TextField
            label={own ? 'Domain' : 'Name'}
            required
            autoFocus
            placeholder={own ? 'shop.example.com' : 'shop'}
            hint={
              own ? (
                'A wildcard such as *.apps.example.com covers all names below.'
              ) : (
                <>
                  Visitors will open <b>{domain || `shop.${below}`}</b>
                </>
              )
            }
            value={name}
            onValue={setName}
            error={atDomain ? error?.message : undefined}
          />
          <TextField
            label="Description"
            hint="For you and your colleagues."
            value={description}
            onValue={setDescription}
            error={error?.field === 'description' ? error.message : undefined}
          />
          {error && !atDomain && error.field !== 'description' && <Notice kind="bad">{error.message}</Notice>}
          <div className="form-actions">
            <Button kind="main" type="submit" busy={busy} disabled={!own && platform === undefined}>
              Reserve it
            </Button>
            <Button kind="quiet" onClick={() => go('/domains')}>
              Cancel
            </Button>
          </div>
          <Equivalent method="POST" path="/reserved_domains" body={body} />
        </form>
      </Card>
    </Page>
  )
}

function Way({
  label,
  hint,
  checked,
  onPick,
}: {
  label: string
  hint: string
  checked: boolean
  onPick: () => void
}) {
  return (
    <label className="way-choice">
      <input type="radio" name="whose" checked={checked} onChange={onPick} />
      <span>
        <b>{label}</b>
        <small>{hint}</small>
      </span>
    </label>
  )
}
