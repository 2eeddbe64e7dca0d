import { useState } from 'react'
import type { Invitation } from '../../../dashboard/page-data.ts'
import { api, errorMessage } from '../api.ts'
import { Button, Card, Notice, OneTimeSecret, Time } from '../kit/index.ts'
import type { ExtraProps } from '../page-contracts.ts'

/** Invites a user by a one-time link, with which they choose their password. */
export default function UserInvitation({ item }: ExtraProps) {
  const [invitation, setInvitation] = useState<Invitation>()
  const [errorText, setErrorText] = useState<string>()
  const [busy, setBusy] = useState(false)
  const invite = async () => {
    setBusy(true)
    setErrorText(undefined)
    try {
      setInvitation(await api.post<Invitation>(`/dashboard/api/users/${item.id}/invitation`))
    } catch (error) {
      setErrorText(errorMessage(error))
    }
    setBusy(false)
  }
  return (
    <Card title="Invitation">
      {invitation === undefined ? (
        <>
          <p>
            Creates a link for {String(item.email)} to choose a password and sign in. It works once, within
            seven days, and replaces earlier links. An existing password and second factor stay until the link
            is used.
          </p>
          <div className="form-actions">
            <Button busy={busy} onClick={() => void invite()}>
              Create invitation link
            </Button>
          </div>
        </>
      ) : (
        <>
          <OneTimeSecret
            label={`Send this link to ${String(item.email)}.`}
            value={new URL(invitation.link, `${location.origin}${location.pathname}`).href}
          />
          <p className="quiet">
            It expires <Time value={invitation.expires_at} />.
          </p>
        </>
      )}
      {errorText && <Notice kind="bad">{errorText}</Notice>}
    </Card>
  )
}
