"""What each arrow rests on: evidence for every direction, calibrated, and no arrow where there is too little of it."""
