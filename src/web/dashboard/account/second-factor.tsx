import { type FormEvent, useState } from 'react'
import { api, sentenceOf } from '../api.ts'
import { Badge, Button, Card, CopyButton, Facts, say, TextField } from '../kit/index.ts'
import { useSession } from '../session.ts'

/** Codes of an authenticator app beside the password: on, off, or being set up. */
export function SecondFactor() {
  const { session, refresh } = useSession()
  const on = session.second_factor
  const [offered, setOffered] = useState<{ secret: string; uri: string }>()
  const [answer, setAnswer] = useState('')
  const [refusal, setRefusal] = useState<string>()
  const [busy, setBusy] = useState(false)

  const attempt = async (work: () => Promise<void>) => {
    setBusy(true)
    setRefusal(undefined)
    try {
      await work()
    } catch (error) {
      setRefusal(sentenceOf(error))
    }
    setBusy(false)
  }
  const begin = () =>
    attempt(async () =>
      setOffered(await api.post<{ secret: string; uri: string }>('/dashboard/api/second_factor')),
    )
  const finish = (event: FormEvent) => {
    event.preventDefault()
    return attempt(async () => {
      if (on) await api.delete('/dashboard/api/second_factor', { password: answer })
      else await api.put('/dashboard/api/second_factor', { code: answer.replaceAll(' ', '') })
      setOffered(undefined)
      setAnswer('')
      say(on ? 'The second factor is off.' : 'The second factor is on.')
      await refresh()
    })
  }
  return (
    <Card
      title={
        <>
          Second factor <Badge tone={on ? 'good' : 'plain'}>{on ? 'on' : 'off'}</Badge>
        </>
      }
    >
      <p>
        {on
          ? 'Signing in asks for a code from your authenticator app after the password.'
          : 'With a second factor a stolen password alone is worth nothing: signing in also asks for a code from an authenticator app.'}
      </p>
      {!on && !offered && (
        <div className="form-actions">
          <Button busy={busy} onClick={() => void begin()}>
            Set up
          </Button>
        </div>
      )}
      {!on && offered && (
        <>
          <p>
            Add an account in your authenticator app with this secret, or open the address on the device that
            has it.
          </p>
          <Facts
            entries={[
              ['Secret', <Copied key="secret" text={offered.secret} />],
              ['Address', <Copied key="uri" text={offered.uri} />],
            ]}
          />
        </>
      )}
      {(on || offered) && (
        <form className="form plain" noValidate onSubmit={(event) => void finish(event)}>
          {on ? (
            <TextField
              label="Password"
              type="password"
              autoComplete="current-password"
              required
              value={answer}
              onValue={setAnswer}
              error={refusal}
              hint="To switch it off, show that it is you."
            />
          ) : (
            <TextField
              label="Code"
              inputMode="numeric"
              autoComplete="one-time-code"
              required
              value={answer}
              onValue={setAnswer}
              error={refusal}
              hint="The six digits the app shows now."
            />
          )}
          <div className="form-actions">
            <Button kind={on ? 'danger' : 'main'} type="submit" busy={busy}>
              {on ? 'Switch off' : 'Switch on'}
            </Button>
          </div>
        </form>
      )}
      {refusal && !on && !offered && <p className="field-error">{refusal}</p>}
    </Card>
  )
}

function Copied({ text }: { text: string }) {
  return (
    <span className="copied">
      <code>{text}</code> <CopyButton text={text} />
    </span>
  )
}
