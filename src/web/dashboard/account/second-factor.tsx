import { type FormEvent, useState } from 'react'
import type { RecoveryCodes as NewCodes, SecondFactorOffer } from '../../../dashboard/page-data.ts'
import { api, errorMessage } from '../api.ts'
import { Badge, Button, Card, CopyButton, Facts, notify, TextField } from '../kit/index.ts'
import { useSession } from '../session.ts'
import { QrCode } from './qr-code.tsx'
import { NewRecoveryCodes, RecoveryCodes } from './recovery-codes.tsx'

const PASSWORD_FIELD = {
  label: 'Password',
  type: 'password',
  autoComplete: 'current-password',
  hint: 'Confirm your password to switch it off.',
} as const

const CODE_FIELD = {
  label: 'Code',
  inputMode: 'numeric',
  autoComplete: 'one-time-code',
  hint: 'The six digits the app currently shows.',
} as const

/** Sets up, switches on and switches off the second factor (TOTP). */
export function SecondFactor() {
  const { session, refresh } = useSession()
  const enabled = session.second_factor
  const [enrollment, setEnrollment] = useState<SecondFactorOffer>()
  const [codes, setCodes] = useState<readonly string[]>()
  const [input, setInput] = useState('')
  const [errorText, setErrorText] = useState<string>()
  const [busy, setBusy] = useState(false)

  const run = async (action: () => Promise<void>) => {
    setBusy(true)
    setErrorText(undefined)
    try {
      await action()
    } catch (error) {
      setErrorText(errorMessage(error))
    }
    setBusy(false)
  }
  const begin = () =>
    run(async () => setEnrollment(await api.post<SecondFactorOffer>('/dashboard/api/second_factor')))
  const finish = (event: FormEvent) => {
    event.preventDefault()
    return run(async () => {
      if (enabled) await api.delete('/dashboard/api/second_factor', { password: input })
      else {
        const code = input.replaceAll(' ', '')
        setCodes((await api.put<NewCodes>('/dashboard/api/second_factor', { code })).recovery_codes)
      }
      setEnrollment(undefined)
      setInput('')
      notify(enabled ? 'The second factor is off.' : 'The second factor is on.')
      await refresh()
    })
  }
  return (
    <Card
      title={
        <>
          Second factor <Badge tone={enabled ? 'good' : 'plain'}>{enabled ? 'on' : 'off'}</Badge>
        </>
      }
    >
      <p>
        {enabled
          ? 'Signing in requires a code from your authenticator app after the password.'
          : 'With a second factor, a stolen password alone is not enough: signing in also requires a code from an authenticator app.'}
      </p>
      {!enabled && !enrollment && (
        <div className="form-actions">
          <Button busy={busy} onClick={() => void begin()}>
            Set up
          </Button>
        </div>
      )}
      {!enabled && enrollment && <Enrollment offer={enrollment} />}
      {codes && (
        <NewRecoveryCodes
          codes={codes}
          onDone={() => {
            setCodes(undefined)
            void refresh()
          }}
        />
      )}
      {enabled && !codes && (
        // The key closes the form after new codes.
        <RecoveryCodes key={session.recovery_codes} remaining={session.recovery_codes} onCodes={setCodes} />
      )}
      {(enabled || enrollment) && !codes && (
        <form className="form plain" noValidate onSubmit={(event) => void finish(event)}>
          <TextField
            {...(enabled ? PASSWORD_FIELD : CODE_FIELD)}
            required
            value={input}
            onValue={setInput}
            error={errorText}
          />
          <div className="form-actions">
            <Button kind={enabled ? 'danger' : 'main'} type="submit" busy={busy}>
              {enabled ? 'Switch off' : 'Switch on'}
            </Button>
          </div>
        </form>
      )}
      {errorText && !enabled && !enrollment && <p className="field-error">{errorText}</p>}
    </Card>
  )
}

/** What an authenticator app needs to show codes. */
function Enrollment({ offer }: { offer: SecondFactorOffer }) {
  return (
    <>
      <p>Scan the code with your authenticator app, or enter the secret there.</p>
      {offer.qr_code && (
        <QrCode rows={offer.qr_code} label="QR code of the second factor for your authenticator app" />
      )}
      <Facts
        entries={[
          ['Secret', <CopyableText key="secret" text={offer.secret} />],
          ['URL', <CopyableText key="uri" text={offer.uri} />],
        ]}
      />
    </>
  )
}

function CopyableText({ text }: { text: string }) {
  return (
    <span className="copied">
      <code>{text}</code> <CopyButton text={text} />
    </span>
  )
}
