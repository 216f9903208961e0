/* Error codes. Python raises each as an exception of core/errors.py, with the text of pz_last_error(). */
#ifndef PZ_ERRORS_H
#define PZ_ERRORS_H

enum pz_error {
    PZ_OK = 0,
    PZ_BAD_PARAMS = 1,
    PZ_BAD_ID = 2,
    PZ_TIMEOUT = 3,
    PZ_ENGINE = 4,
    PZ_INTERRUPTED = 5,
    PZ_NO_SOLUTION = 6,
    PZ_CORRUPT = 7,
    PZ_NO_PLAN = 8,
    PZ_BAD_ACTION = 9,
    PZ_UNREADABLE = 10
};

enum { PZ_MESSAGE = 512 }; /* bytes of an error text, its end included */

#endif
