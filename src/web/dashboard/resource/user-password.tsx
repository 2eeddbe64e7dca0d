import { useState } from 'react'
import { api, sentenceOf } from '../api.ts'
import { Button, Card, Equivalent, Notice, ShownOnce } from '../kit/index.ts'
import type { ExtraProps } from '../resources.ts'

/** Makes a password for a person, who should change it after signing in. */
export default function UserPassword({ item }: ExtraProps) {
  const [made, setMade] = useState<string>()
  const [refusal, setRefusal] = useState<string>()
  const [busy, setBusy] = useState(false)
  const path = `/dashboard/api/users/${item.id}/password`
  const make = async () => {
    setBusy(true)
    setRefusal(undefined)
    try {
      setMade((await api.put<{ password: string }>(path)).password)
    } catch (error) {
      setRefusal(sentenceOf(error))
    }
    setBusy(false)
  }
  return (
    <Card title="Password">
      {made === undefined ? (
        <>
          <p>
            Makes a new password for {String(item.email)} and ends their sessions. Hand it over on a safe way;
            they can change it on their account page.
          </p>
          <div className="form-actions">
            <Button busy={busy} onClick={() => void make()}>
              Make a password
            </Button>
          </div>
          <Equivalent method="PUT" path={path} />
        </>
      ) : (
        <ShownOnce label={`This is the new password of ${String(item.email)}.`} value={made} />
      )}
      {refusal && <Notice kind="bad">{refusal}</Notice>}
    </Card>
  )
}
