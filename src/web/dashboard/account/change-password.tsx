import { type FormEvent, useState } from 'react'
import { ApiError, api, errorMessage } from '../api.ts'
import { Button, Card, Notice, notify, TextField } from '../kit/index.ts'
import { useSession } from '../session.ts'

/** Changes the password of the signed-in user. */
export function ChangePassword() {
  const { session, refresh } = useSession()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [confirmation, setConfirmation] = useState('')
  const [error, setError] = useState<{ field: string | undefined; message: string }>()
  const [busy, setBusy] = useState(false)

  const change = async (event: FormEvent) => {
    event.preventDefault()
    if (next !== confirmation) return setError({ field: 'again', message: 'The new passwords do not match.' })
    setBusy(true)
    setError(undefined)
    try {
      await api.put('/dashboard/api/password', { new: next, ...(current !== '' && { current }) })
      setCurrent('')
      setNext('')
      setConfirmation('')
      notify('Password changed.')
      await refresh()
    } catch (caught) {
      const field = caught instanceof ApiError ? caught.field : undefined
      setError({ field, message: errorMessage(caught) })
    }
    setBusy(false)
  }
  const errorAt = (field: string) => (error?.field === field ? error.message : undefined)
  const shownAtField = ['current', 'new', 'again'].includes(error?.field ?? '')
  return (
    <Card title="Change password">
      <form className="form plain" noValidate onSubmit={(event) => void change(event)}>
        <TextField
          label="Current password"
          type="password"
          autoComplete="current-password"
          required
          value={current}
          onValue={setCurrent}
          error={errorAt('current')}
          {...(session.api_key_sign_in && { hint: 'Leave it empty if you have no password yet.' })}
        />
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          value={next}
          onValue={setNext}
          error={errorAt('new')}
          hint="Length matters more than complexity: a few unrelated words are fine."
        />
        <TextField
          label="Confirm new password"
          type="password"
          autoComplete="new-password"
          required
          value={confirmation}
          onValue={setConfirmation}
          error={errorAt('again')}
        />
        {error && !shownAtField && <Notice kind="bad">{error.message}</Notice>}
        <div className="form-actions">
          <Button kind="main" type="submit" busy={busy}>
            Change password
          </Button>
        </div>
      </form>
    </Card>
  )
}
