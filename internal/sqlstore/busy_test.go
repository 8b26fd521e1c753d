package sqlstore_test

const lockerEnv = "SQLSTORE_TEST_LOCK"

func holdWriteLock(string) {}
